import { afterEach, describe, expect, it } from '@jest/globals'
import { startSystem, type System } from '@open-payments-server/acceptance'
import { explainStatements, findReads, type PlanRead } from '../src/explain-statements.js'
import { BUSY_WORKERS, exerciseEverything } from '../src/exercise.js'
import { isSmall } from '../src/few-rows.js'
import { fillSystem } from '../src/fill.js'

/** Number of wallet addresses, which exist before any payment. */
const WALLETS = 500
const TIMEOUT_MS = 300_000

/**
 * Indexes of unfinished work, and the statements that may read them for the next work. No other may, because an index also
 * contains what was finished since the last vacuum.
 */
const UNFINISHED: Readonly<Record<string, readonly string[]>> = {
  outgoing_payment_pending_idx: [
    'begin-sending-payments',
    'claim-outgoing-payments',
    'claim-payments-to-send',
    'doubt-sendings',
    'measure-payments'
  ],
  grant_reservation_undelivered_idx: ['claim-reservation-outcomes'],
  grant_reservation_undelivered_since_idx: ['claim-reservation-outcomes', 'measure-payments'],
  reservation_open_idx: ['measure-reservations'],
  event_outbox_pkey: ['lock-event-log', 'publish-events']
}

/** Statements that several requests share. */
const TOGETHER = [
  'reserve',
  'end-reservations',
  'rotate-tokens',
  'begin-grants',
  'persist-outgoing-payments',
  'settle-outgoing-payments',
  'create-incoming-payments',
  'create-quotes'
]

// A connection keeps its plans until the tables are analyzed again, which may take a minute. Meanwhile thousands of payments may
// be made, and each would read the rows of all others.
describe('a plan that was made while tables were small', () => {
  let system: System | undefined
  afterEach(async () => {
    await system?.stop()
    system = undefined
  })

  it.each([0, 70, 300, 1_000, 5_000])(
    'with %d payments looks rows up, rather than read all there are',
    async (paymentCount) => {
      system = await startSystem(BUSY_WORKERS)
      const found: string[] = []
      const pools = [...system.runningAuthServers, ...system.runningResourceServers].map(({ pool }) => pool)
      const explainers = pools.map((pool) => explainStatements(pool, { carriedOut: true }))
      await exerciseEverything(system, ['/alice', '/bob'])
      if (paymentCount > 0) await fillSystem(system, { paymentCount, walletCount: WALLETS })
      const prepared: string[] = []
      for (const explainer of explainers) {
        await explainer.explainGenerically()
        expect(explainer.failures).toEqual([])
        for (const { name, genericPlan } of explainer.statements.values()) {
          if (genericPlan === undefined || name === undefined) continue
          prepared.push(name)
          found.push(...findReads(genericPlan).flatMap((read) => faultOf(name, read) ?? []))
        }
        explainer.stop()
      }
      expect(found).toEqual([])
      expect(prepared).toEqual(expect.arrayContaining(TOGETHER))
    },
    TIMEOUT_MS
  )
})

/** What is wrong with a read; undefined when nothing is. */
function faultOf(name: string, { source, looksUp }: PlanRead): string | undefined {
  const users = UNFINISHED[source]
  if (users !== undefined) return users.includes(name) ? undefined : `${name} uses ${source}`
  return looksUp || isSmall(source) ? undefined : `${name} reads all of ${source}`
}
