import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import { Secret } from '@open-payments-server/runtime/configuration'
import { trace } from '@opentelemetry/api'
import { ExportResultCode } from '@opentelemetry/core'
import { TellingExporter } from '../../src/telemetry/telling-exporter.js'
import { withTelemetry } from '../../src/telemetry/index.js'

const KEY = 'key-of-the-collector-k4Jh2'
const lines: Record<string, unknown>[] = []
const logger = createLogger({
  service: 'test',
  level: 'trace',
  destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) }
})
afterEach(() => {
  lines.length = 0
})

/** A collector that refuses all it is sent, and remembers with what key. */
async function startRefusingCollector() {
  const keys: unknown[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization)
    request
      .resume()
      .on('end', () => response.writeHead(401).end(`no, ${String(request.headers.authorization)}`))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  return { keys, endpoint, stop: () => server.close() }
}

it('a service stops after sending its last traces, and logs a refusing collector once, without its key', async () => {
  const collector = await startRefusingCollector()
  const stopped: string[] = []
  const service = await withTelemetry(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.endpoint}/`,
      OTEL_EXPORTER_OTLP_HEADERS: new Secret(`authorization=Bearer%20${KEY}`),
      OTEL_TRACES_SAMPLER_ARG: 1,
      TRACE_CONTEXT_TRUSTED: false
    },
    { service: 'test', version: '1.2.3', logger },
    () =>
      Promise.resolve({
        stop: () => {
          trace.getTracer('test').startSpan('last').end()
          stopped.push('service')
          return Promise.resolve()
        }
      })
  )
  await service.stop()
  collector.stop()
  expect(stopped).toEqual(['service'])
  expect(collector.keys).toEqual([`Bearer ${KEY}`])
  expect(lines.filter(({ level }) => Number(level) >= 40)).toHaveLength(1)
  expect(JSON.stringify(lines)).not.toContain(KEY)
})

it('an outage of the collector is one line in the log, and its end another', () => {
  let code = ExportResultCode.FAILED
  const exporter = new TellingExporter(
    {
      export: (_spans, onResult) => {
        onResult({ code, error: new Error('connect ECONNREFUSED') })
      },
      shutdown: () => Promise.resolve()
    },
    logger
  )
  const results: ExportResultCode[] = []
  const exportOnce = (): void => {
    exporter.export([], (result) => results.push(result.code))
  }
  for (let count = 0; count < 5; count += 1) exportOnce()
  code = ExportResultCode.SUCCESS
  for (let count = 0; count < 5; count += 1) exportOnce()
  const told = lines.filter(({ level }) => Number(level) >= 30)
  expect(told.map(({ level, reason }) => ({ level, reason }))).toEqual([
    { level: 40, reason: 'connect ECONNREFUSED' },
    { level: 30, reason: undefined }
  ])
  expect(new Set(results)).toEqual(new Set([ExportResultCode.SUCCESS]))
})
