import {
  allSettled,
  type ConnectedSystem,
  connectInRealTime,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay,
  planSystem,
  QUICK,
  ServiceProcess
} from '@open-payments-server/acceptance'
import { findFreePorts } from '@open-payments-server/local-services'
import { scrapeMetrics, send } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ReplicatedPostgres } from '../src/replicated-postgres.js'

const TIME_LIMIT_MS = 300_000
/** Enough payments at once that every connection is made that others need later. */
const TOGETHER = 20
const SYNCHRONOUS = 'open_payments_database_synchronous'

describe('both services with DATABASE_DURABILITY=synchronous, whose database has lost its standby', () => {
  let postgres: ReplicatedPostgres
  let services: readonly ServiceProcess[]
  let metricsPorts: readonly number[]
  let system: ConnectedSystem
  let drop: () => Promise<unknown>
  let payNow: () => Promise<number>

  beforeAll(async () => {
    postgres = await ReplicatedPostgres.start()
    await postgres.setSynchronous(true)
    metricsPorts = await findFreePorts(2)
    const [authMetrics, resourceMetrics] = metricsPorts.map((port) => ({
      DATABASE_DURABILITY: 'synchronous',
      METRICS_PORT: String(port)
    }))
    const plan = await planSystem({
      postgresUrl: postgres.url,
      auth: { ...QUICK.auth, ...authMetrics },
      resource: { ...QUICK.resource, ...resourceMetrics }
    })
    drop = () => Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    services = [
      ...plan.authServers.map((one) => new ServiceProcess({ service: 'auth-server', ...one })),
      ...plan.resourceServers.map((one) => new ServiceProcess({ service: 'resource-server', ...one }))
    ]
    await Promise.all(services.map((service) => service.start()))
    system = await connectInRealTime(plan)
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    payNow = async () => (await pay(system, system.shop, token, receiver.url, 1n)).status
    expect(await Promise.all(Array.from({ length: TOGETHER }, payNow))).toEqual(Array(TOGETHER).fill(201))
    await allSettled(system)
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    system.close()
    await Promise.all(services.map((service) => service.kill()))
    await drop()
    await postgres.stop()
  }, TIME_LIMIT_MS)

  const readiness = () =>
    Promise.all(
      services.map(async ({ options: { readyUrl } }) => {
        const { status, text } = await send('GET', readyUrl)
        return { status, reasons: (JSON.parse(text) as { reasons: string[] }).reasons }
      })
    )
  const gauges = () =>
    Promise.all(metricsPorts.map(async (port) => (await scrapeMetrics(port)).at(SYNCHRONOUS)))
  /** Waits until both services tell this. Each looks at its database every five seconds. */
  const whenTold = (value: 0 | 1) =>
    eventually(`the gauges are ${String(value)}`, async () =>
      (await gauges()).every((gauge) => gauge === value)
    )
  const READY = { status: 200, reasons: [] }

  it(
    'pay over the connections that they have and stay ready, also without any, and tell it by a metric',
    async () => {
      expect([await readiness(), await gauges()]).toEqual([
        [READY, READY],
        [1, 1]
      ])
      await postgres.cutReplication()
      await postgres.setSynchronous(false)
      await whenTold(0)
      expect([await payNow(), await readiness()]).toEqual([201, [READY, READY]])
      await allSettled(system)

      // As when they get old: others are refused.
      await postgres.endConnections('auth-server', 'resource-server')
      // Without an answer where it is not known whether it was reserved: the auth server has no database either.
      const refused = await payNow().catch((error: unknown) => (error as Error).message)
      expect([503, 'fetch failed']).toContain(refused)
      expect([await readiness(), await gauges()]).toEqual([
        [READY, READY],
        [0, 0]
      ])
    },
    TIME_LIMIT_MS
  )

  it(
    'do not become ready when they are started, and say why, until there is a standby again',
    async () => {
      for (const service of services) {
        expect(await service.stop()).toBe('exit 0')
        await service.start(503)
      }
      const reasons = (await readiness()).map((answer) => answer.reasons)
      for (const said of reasons) expect(said).toContain('database: commits without a standby')
      expect(await gauges()).toEqual([0, 0])

      await postgres.restoreReplication()
      await postgres.whenCaughtUp()
      await postgres.setSynchronous(true)
      await eventually('both are ready', async () =>
        (await readiness()).every(({ status }) => status === 200)
      )
      await whenTold(1)
      expect(await payNow()).toBe(201)
      await allSettled(system)
      expect(await system.audit()).toEqual([])
    },
    TIME_LIMIT_MS
  )
})
