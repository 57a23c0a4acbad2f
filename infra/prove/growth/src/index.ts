/** Creates many payments, and inspects plans and sizes with them. The benchmark and the pages use it, too. */
export { explainStatements, findPlanFaults } from './explain-statements.js'
export { fillDatabases, fillSystem } from './fill.js'
export { fillOperated, GROWN_PEER } from './fill-operated.js'
export { findBigTables } from './pretend-growth.js'
