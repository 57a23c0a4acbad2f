import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startSystem, type System } from '@open-payments-server/acceptance'
import {
  type ExplainedStatement,
  explainStatements,
  findPlanFaults,
  type PlanLimits,
  type StatementExplainer
} from '../src/explain-statements.js'
import { BUSY_WORKERS, exerciseEverything } from '../src/exercise.js'
import { fillSystem } from '../src/fill.js'
import { findBigTables, pretendGrowth } from '../src/pretend-growth.js'
import { reportGrowth } from '../src/report.js'

/** Payments that actually exist. The rest exist only in PostgreSQL's statistics. */
const PAYMENT_COUNT = Number(process.env.GROWTH_TEST_PAYMENTS ?? '0')
const FILL_TIMEOUT_MS = 3_600_000
/** Number of rows from which a table counts as big. */
const BIG = 10_000
/** A page of a list, a batch of a worker, or a page of an audit. */
const ROWS_MAX = 1_100
/** Without real rows their number is unknown. */
const PRETENDED_ROWS_MAX = Number.POSITIVE_INFINITY

let system: System
let explainers: Readonly<Record<'auth' | 'resource', StatementExplainer>>
let limits: Readonly<Record<'auth' | 'resource', PlanLimits>>

beforeAll(async () => {
  system = await startSystem(BUSY_WORKERS)
  limits = PAYMENT_COUNT > 0 ? await grow() : await pretend()
  const [authServer] = system.runningAuthServers
  const [resourceServer] = system.runningResourceServers
  if (authServer === undefined || resourceServer === undefined) throw new Error('nothing runs')
  const options = { carriedOut: PAYMENT_COUNT > 0 }
  explainers = {
    auth: explainStatements(authServer.pool, options),
    resource: explainStatements(resourceServer.pool, options)
  }
  const paths = PAYMENT_COUNT > 0 ? ['/grown-0', '/grown-5', '/alice'] : ['/alice', '/bob']
  await exerciseEverything(system, paths)
  for (const explainer of Object.values(explainers)) await explainer.explainGenerically()
}, FILL_TIMEOUT_MS)
afterAll(async () => {
  for (const explainer of Object.values(explainers)) explainer.stop()
  await system.stop()
})

async function grow(): Promise<typeof limits> {
  const { authDatabase, resourceDatabase } = system
  const begun = Date.now()
  await fillSystem(system, { paymentCount: PAYMENT_COUNT, walletCount: 20_000 })
  console.log(`filled in ${String(Math.round((Date.now() - begun) / 1_000))} s`)
  return {
    auth: { bigTables: await findBigTables(authDatabase, BIG), rowsMax: ROWS_MAX },
    resource: { bigTables: await findBigTables(resourceDatabase, BIG), rowsMax: ROWS_MAX }
  }
}

async function pretend(): Promise<typeof limits> {
  return {
    auth: { bigTables: await pretendGrowth(system.authDatabase), rowsMax: PRETENDED_ROWS_MAX },
    resource: { bigTables: await pretendGrowth(system.resourceDatabase), rowsMax: PRETENDED_ROWS_MAX }
  }
}

/** What is wrong with the plans of a statement. */
function faultsOf({ text, plans, genericPlan }: ExplainedStatement, within: PlanLimits): string[] {
  const all = genericPlan === undefined ? plans : [...plans, genericPlan]
  const faults = new Set(all.flatMap((plan) => findPlanFaults(plan, within)))
  return [...faults].map((fault) => `${fault}: ${text.replace(/\s+/g, ' ').trim()}`)
}

describe('with a million payments', () => {
  it.each(['auth', 'resource'] as const)(
    'no statement of the %s server reads a whole table, or more rows than it needs',
    (service) => {
      const { statements, failures } = explainers[service]
      expect(failures).toEqual([])
      expect([...statements.values()].flatMap((statement) => faultsOf(statement, limits[service]))).toEqual(
        []
      )
      // The statements that must have been checked.
      expect(statements.size).toBeGreaterThan(service === 'auth' ? 20 : 25)
    }
  )

  it('a statement without an index is found out', async () => {
    const [authServer] = system.runningAuthServers
    await authServer?.pool.query('select 1 from grant_request where client_name = $1', ['nobody'])
    const found = explainers.auth.statements.get('select 1 from grant_request where client_name = $1')
    expect(found && faultsOf(found, limits.auth).join()).toContain('reads all of grant_request')
  })

  if (PAYMENT_COUNT > 0) {
    it(
      'an audit finds nothing, and sizes and times are told',
      async () => {
        // An audit reads everything and is not explained.
        for (const explainer of Object.values(explainers)) explainer.stop()
        await reportGrowth(system)
      },
      FILL_TIMEOUT_MS
    )
  }
})
