import { afterEach, describe, expect, it } from '@jest/globals'
import { startSystem, type System } from '@open-payments-server/acceptance'
import { explainStatements, findWholeReads } from '../src/explain-statements.js'
import { exerciseEverything } from '../src/exercise.js'
import { fillDatabases } from '../src/fill.js'

const DAY_MS = 86_400_000
/** Wallet addresses are there before payments are. */
const WALLETS = 500
const TIMEOUT_MS = 120_000

/**
 * May be read as a whole, as far as a limit goes: the few assets there are, and indexes of work that waits, out of which it is
 * taken away.
 */
const READ_AS_A_WHOLE: ReadonlySet<string> = new Set([
  'asset',
  'asset_pkey',
  'outgoing_payment_pending_idx',
  'grant_reservation_undelivered_since_idx'
])

// A connection keeps its plans until PostgreSQL has looked at a table again, which may take a minute: time for thousands of
// payments, each of which would read what all the others left.
describe('a plan that was made while tables were small', () => {
  let system: System | undefined
  afterEach(async () => {
    await system?.stop()
    system = undefined
  })

  it.each([0, 70, 1_000, 5_000])(
    'with %d payments looks rows up, rather than read all there are',
    async (paymentCount) => {
      system = await startSystem({
        auth: { PURGE_INTERVAL_SECONDS: '1' },
        resource: { PURGE_INTERVAL_SECONDS: '1', SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '1' }
      })
      const found: string[] = []
      const pools = [...system.runningAuthServers, ...system.runningResourceServers].map(({ pool }) => pool)
      const explainers = pools.map((pool) => explainStatements(pool, { carriedOut: true }))
      await exerciseEverything(system, ['/alice', '/bob'])
      if (paymentCount > 0) await grow(system, paymentCount)
      let prepared = 0
      for (const explainer of explainers) {
        await explainer.explainGenerically()
        expect(explainer.failures).toEqual([])
        for (const { text, genericPlan } of explainer.statements.values()) {
          if (genericPlan === undefined) continue
          prepared += 1
          for (const read of findWholeReads(genericPlan, READ_AS_A_WHOLE)) {
            found.push(`${read}: ${text.replace(/\s+/g, ' ').trim()}`)
          }
        }
        explainer.stop()
      }
      expect(found).toEqual([])
      expect(prepared).toBeGreaterThan(25)
    },
    TIMEOUT_MS
  )
})

/** Adds payments with all that belongs to them, and has PostgreSQL look at what there is now. */
async function grow(system: System, paymentCount: number): Promise<void> {
  const { shop, market, authDatabase, resourceDatabase, resourceServerUrl } = system
  await fillDatabases(
    { auth: authDatabase.url, resource: resourceDatabase.url },
    {
      paymentCount,
      walletCount: WALLETS,
      resourceServerUrl,
      clients: [shop.walletAddress, market.walletAddress],
      beginMs: Date.now() - 30 * DAY_MS,
      endMs: Date.now() - DAY_MS
    }
  )
  await authDatabase.query('analyze')
  await resourceDatabase.query('analyze')
}
