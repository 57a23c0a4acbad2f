import { request as httpRequest } from 'node:http'
import { expect, it } from '@jest/globals'
import { createHttpApp, startHttpServer } from '@open-payments-server/http-server'
import { createLogger } from '@open-payments-server/runtime'
import { Metrics, publishTransports } from '../../src/metrics/index.js'

const logger = createLogger({ service: 'test', level: 'silent' })
const REQUESTS = 1_000

/** Sends a request with a method of any name; resolves to its status. */
function statusOf(port: number, method: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, method, path }, (response) => {
      response.resume().on('end', () => {
        resolve(response.statusCode)
      })
    })
    sent.on('error', reject).end()
  })
}

/** The series of a scrape, without their values. */
async function seriesOf(metrics: Metrics): Promise<string[]> {
  const { text } = await metrics.scrape()
  return text
    .split('\n')
    .flatMap((line) => (line.startsWith('#') ? [] : [line.slice(0, line.lastIndexOf(' '))]))
}

it('requests are measured by route, and invented paths and methods add no series', async () => {
  const metrics = new Metrics({ logger })
  const { http, watchListener } = publishTransports(metrics, { listeners: ['public'], version: '1.2.3' })
  const app = createHttpApp({
    logger,
    routes: [
      {
        method: 'GET',
        path: '/things/:id',
        handle: (_request, response) => {
          response.sendJson(200, {})
        }
      }
    ],
    requestObserver: http.public,
    bodyBytesMax: 100,
    unexpectedCode: '500',
    badRequestCode: '400'
  })
  const server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
  watchListener('public', server)
  const sendAll = async (round: string): Promise<void> => {
    for (const method of ['GET', 'POST', 'PROPFIND', 'SEARCH', 'UNLOCK'])
      for (const path of [`/things/${round}`, `/none/${round}`]) await statusOf(server.port, method, path)
  }
  await sendAll('first')
  const before = await seriesOf(metrics)
  expect(before).toContain(
    'open_payments_http_request_duration_seconds_count{listener="public",method="GET",route="/things/:id",status="200"}'
  )
  expect(before).toContain(
    'open_payments_http_request_duration_seconds_count{listener="public",method="other",route="none",status="404"}'
  )
  for (let count = 0; count < REQUESTS / 10; count += 1) await sendAll(`${count}?random=${count}`)
  expect((await metrics.scrape()).text).toMatch(/open_payments_http_connections\{listener="public"\} [1-9]/)
  await server.stop(1_000)
  expect(await seriesOf(metrics)).toEqual(before)
  const { text } = await metrics.scrape()
  expect(text).toContain('open_payments_http_requests_in_flight{listener="public"} 0')
  expect(text).toContain(`open_payments_build_info{version="1.2.3",node="${process.versions.node}"} 1`)
})

it('pool connections are reported as of the scrape', async () => {
  const metrics = new Metrics({ logger })
  const transports = publishTransports(metrics, { listeners: [], version: '1.2.3' })
  const pool = { totalCount: 3, idleCount: 1, waitingCount: 4, options: { max: 16 } }
  transports.watchPool(pool)
  transports.connectionAcquired(0.002)
  transports.grpcServer('Service/Method', 'OK', 0.2)
  transports.grpcClient.retried('Service/Method')
  pool.idleCount = 0
  const { text } = await metrics.scrape()
  for (const line of [
    'open_payments_database_connections{state="busy"} 3',
    'open_payments_database_connections{state="idle"} 0',
    'open_payments_database_connections_max 16',
    'open_payments_database_waiting 4',
    'open_payments_database_acquire_duration_seconds_count 1',
    'open_payments_grpc_server_call_duration_seconds_bucket{le="0.25",method="Service/Method",code="OK"} 1',
    'open_payments_grpc_client_retries_total{method="Service/Method"} 1'
  ])
    expect(text).toContain(`${line}\n`)
})
