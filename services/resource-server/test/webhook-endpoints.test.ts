import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@open-payments-server/database'
import { createEventNews } from '@open-payments-server/events'
import { createPostClient, LOOPBACK_NETWORKS } from '@open-payments-server/http-client'
import { createLogger } from '@open-payments-server/runtime'
import { createInProcessStore } from '@open-payments-server/shared-store'
import {
  createEndpoint,
  createEndpointSecrets,
  drawSecret,
  listEndpoints,
  WebhookDelivery
} from '@open-payments-server/webhooks'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openDatabase } from './support/open-database.js'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'
import { whenPublished } from './support/told-receiver.js'

const ENDPOINTS = 1_000
const EVENTS = 3
const REPLICAS = 2

let world: PaymentWorld
beforeAll(async () => {
  world = await startPaymentWorld()
})
afterAll(() => world.stop())

it('one of a thousand endpoints that hangs, and a replica that stops, hold up none of the others', async () => {
  const logger = createLogger({ service: 'test', level: 'silent' })
  const taken = new Map<string, string[]>()
  const hanging: (() => void)[] = []
  const server = createServer((request, response) => {
    const [name = '', id = ''] = [request.url?.slice(1), request.headers['webhook-id']].map(String)
    request.resume()
    request.on('end', () => {
      if (name === '0') {
        hanging.push(() => response.end())
        return
      }
      taken.set(name, [...(taken.get(name) ?? []), id])
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const pool = createPool({
    url: world.database.url,
    connectionsMax: 8,
    applicationName: 'webhook-test',
    statementTimeoutMs: 10_000,
    connectTimeoutMs: 60_000
  })
  const database = openDatabase(pool)
  const secrets = createEndpointSecrets(['the key of these webhooks'])
  // What happened before is not for endpoints that are registered meanwhile.
  await whenPublished(world)
  for (let index = 0; index < ENDPOINTS; index += 1) {
    const id = randomUUID()
    const url = `http://127.0.0.1:${String(port)}/${String(index)}`
    const settings = {
      id,
      url,
      types: [],
      walletAddress: undefined,
      sealedSecret: await secrets.seal(id, drawSecret())
    }
    await createEndpoint(database, settings, Date.now())
  }
  const sharedStore = createInProcessStore()
  const client = createPostClient({
    privateNetworks: LOOPBACK_NETWORKS,
    timeoutMs: 10_000,
    userAgent: 'test',
    connectionsMax: 64
  })
  const replicas = Array.from({ length: REPLICAS }, () => {
    const news = createEventNews({ sharedStore, logger })
    const complete = (events: readonly unknown[]) =>
      Promise.resolve(events.map(() => ({ subject: 'https://wallet.example/', data: null })))
    const delivery = new WebhookDelivery({
      database,
      news,
      complete,
      walletAddressesOf: () => [],
      client,
      secrets,
      now: Date.now,
      logger,
      onAttempt: () => undefined,
      onFailed: () => undefined
    })
    return { news, delivery }
  })
  const tookAll = (events: number): boolean =>
    taken.size === ENDPOINTS - 1 && [...taken.values()].every((ids) => new Set(ids).size === events)

  try {
    for (let count = 0; count < EVENTS; count += 1) await world.createReceiver()
    while (!tookAll(EVENTS)) await delay(50)
    await replicas[0]?.delivery.stop()
    for (let count = 0; count < EVENTS; count += 1) await world.createReceiver()
    while (!tookAll(2 * EVENTS)) await delay(50)
    const endpoints = await listEndpoints(database, { after: undefined, countMax: ENDPOINTS })
    expect(endpoints.filter(({ undeliveredCount }) => undeliveredCount > 0).length).toBeLessThanOrEqual(1)
  } finally {
    for (const answer of hanging) answer()
    for (const { news, delivery } of replicas) {
      await delivery.stop()
      await news.stop()
    }
    await client.close()
    await database.$disconnect()
    await pool.end()
    await sharedStore.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}, 300_000)
