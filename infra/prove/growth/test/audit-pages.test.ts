import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { isBackgroundStatement } from '@open-payments-server/testing'
import { startSystem, type System } from '@open-payments-server/acceptance'
import { explainStatements, findPlanFaults } from '../src/explain-statements.js'
import { fillSystem } from '../src/fill.js'

const PAYMENT_COUNT = 5_000
/** A page, plus some tolerance. */
const ROWS_MAX = 1_100

let system: System
beforeAll(async () => {
  system = await startSystem()
  await fillSystem(system, { paymentCount: PAYMENT_COUNT, walletCount: 10 })
}, 300_000)
afterAll(() => system.stop())

it('an audit reads no payment twice, page by page', async () => {
  const pools = [
    ...system.runningAuthServers.map(({ pool }) => pool),
    ...system.runningResourceServers.flatMap(({ pool, patientPool }) => [pool, patientPool])
  ]
  const explainers = pools.map((pool) => explainStatements(pool, { carriedOut: true }))
  expect(await system.audit()).toEqual([])
  const pages = explainers
    .flatMap(({ statements }) => [...statements.values()])
    .filter(({ plans }) => plans.length > 1)
    .filter(({ text }) => /limit \$\d|LIMIT \$\d/.test(text) && !isBackgroundStatement(text))
  const faults = pages.flatMap(({ text, plans }) =>
    plans
      .flatMap((plan) => findPlanFaults(plan, { bigTables: new Set(), rowsMax: ROWS_MAX }))
      .map((fault) => `${fault}: ${text}`)
  )
  expect(faults).toEqual([])
  expect(pages.length).toBe(2)
  for (const explainer of explainers) explainer.stop()
}, 300_000)
