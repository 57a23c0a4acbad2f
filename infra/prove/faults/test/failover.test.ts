import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  allSettled,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import { callUnary, createClient, status } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { findFreePort } from '@open-payments-server/local-services'
import { scrapeMetrics } from '@open-payments-server/testing'
import pg from 'pg'
import { ReplicatedPostgres } from '../src/replicated-postgres.js'

const LOST = 'No payment was lost that was reserved before the database changed its timeline.'
const TIME_LIMIT_MS = 300_000
/** Longer than a sweep and the age of reservations that it considers. */
const SWEPT_MS = 4_000

describe('a failover of the resource server’s database to a standby that is behind', () => {
  let postgres: ReplicatedPostgres
  let system: System
  let operator: wallet.WalletOperatorServiceClient
  let kept: string
  let settled: string
  let open: string
  let metricsPort: number

  beforeAll(async () => {
    postgres = await ReplicatedPostgres.start()
    metricsPort = await findFreePort()
    system = await startSystem({
      resourcePostgresUrl: postgres.url,
      resource: {
        ORPHAN_AGE_SECONDS: '1',
        SWEEP_INTERVAL_SECONDS: '1',
        PROCESSING_POLL_SECONDS: '1',
        METRICS_PORT: String(metricsPort)
      }
    })
    operator = createClient(wallet.WalletOperatorServiceClient, {
      target: `127.0.0.1:${String(system.resourceServers[0]?.grpcPort)}`,
      deadlineMs: 30_000,
      retriesMax: 0,
      messageBytesMax: 1_048_576
    })
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    operator.close()
    await system.stop()
    await postgres.stop()
  })

  const listLost = async () =>
    (await callUnary(operator, 'listLostPayments', { pageSize: 0, pageToken: '' }, { idempotent: true }))
      .payments
  const giveUp = async (...paymentIds: string[]) =>
    (await callUnary(operator, 'giveUpLostPayments', { paymentIds }, { idempotent: false })).paymentIds
  const stateOf = async (paymentId: string) =>
    (
      await system.authDatabase.query<{ state: string }>(
        'select state from reservation where payment_id = $1',
        [paymentId]
      )
    ).map(({ state }) => state)
  /** Audits with the clock set to the present, so that everything so far is old. */
  const audit = async () => {
    system.clock.set(Date.now())
    return system.audit()
  }

  it(
    'loses payments that were answered: they are told before anything else is decided about them',
    async () => {
      const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
      const receiver = await createReceiver(system, system.shop)
      const locked = await createReceiver(system, system.shop)
      const payOnce = async (url: string) => {
        const answer = await pay(system, system.shop, token, url, 7n)
        expect(answer.status).toBe(201)
        return answer.textAt('id').slice(-36)
      }
      kept = await payOnce(receiver.url)
      await allSettled(system)
      await postgres.whenCaughtUp()
      expect(await audit()).toEqual([])
      expect(await listLost()).toEqual([])

      await postgres.cutReplication()
      settled = await payOnce(receiver.url)
      await allSettled(system)
      const holder = new pg.Client({ connectionString: system.resourceDatabase.url })
      holder.on('error', () => undefined) // the crash ends it
      await holder.connect()
      await holder.query('begin')
      await holder.query('select 1 from incoming_payment where id = $1 for update', [locked.url.slice(-36)])
      open = await payOnce(locked.url)
      await postgres.failOver()
      await holder.end().catch(() => undefined)

      await eventually('the service has met the new timeline', async () => {
        const met = await system.resourceDatabase
          .query<{ id: string }>('select timeline_id::text as id from database_incarnation order by 1')
          .catch(() => [])
        return met.length === 2
      })
      await eventually('the service has missed what it had answered', async () => {
        return (await scrapeMetrics(metricsPort)).at('open_payments_lost_payments_total') === 2
      })
      await new Promise((resolve) => setTimeout(resolve, SWEPT_MS))
      expect([await stateOf(settled), await stateOf(open)]).toEqual([['settled'], ['open']])

      const told = await audit()
      const lost = await listLost()
      expect(lost.map(({ paymentId, state }) => [paymentId, state])).toEqual(
        [
          [settled, 'settled'],
          [open, 'open']
        ].sort()
      )
      const grant = lost[0]?.grantId ?? ''
      const from = `from ${system.walletAddresses.alice} to`
      expect(told.map((violation) => violation.replace(/at \d{4}-.*Z/, 'then')).sort()).toEqual(
        [
          `payment ${settled} of grant ${grant}: settled, 7 for 7 with 7 and 7, ${from} ${receiver.url}, reserved then, is lost here`,
          `payment ${open} of grant ${grant}: open, 7 for 7, ${from} ${locked.url}, reserved then, is lost here`
        ]
          .map((violation) => `${LOST}: ${violation}`)
          .sort()
      )
      expect(lost[0]).toMatchObject({ debitValue: '7', debitAsset: { code: 'USD', scale: 2 } })
    },
    TIME_LIMIT_MS
  )

  it('lets an operator give up what is lost, and nothing else', async () => {
    await expect(giveUp(kept, open)).rejects.toMatchObject({
      code: status.FAILED_PRECONDITION,
      field: 'payment_ids'
    })
    const unknown = '0190a5f0-0000-7000-8000-00000000000f'
    await expect(giveUp(open, unknown)).rejects.toMatchObject({ code: status.NOT_FOUND })
    await expect(giveUp('7')).rejects.toMatchObject({ code: status.INVALID_ARGUMENT })
    expect(await stateOf(open)).toEqual(['open'])

    expect((await giveUp(settled, open)).sort()).toEqual([settled, open].sort())
    expect(await giveUp(settled, open)).toEqual([])
    await allSettled(system)
    expect([await stateOf(settled), await stateOf(open)]).toEqual([['settled'], ['released']])
    expect(await listLost()).toEqual([])
    expect(await audit()).toEqual([])
  })
})
