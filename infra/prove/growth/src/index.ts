/** A great number of payments, and what is looked at with them. For the load harness, too. */
export { fillDatabases, fillSystem } from './fill.js'
export type { GrowthPlan } from './generated-values.js'
