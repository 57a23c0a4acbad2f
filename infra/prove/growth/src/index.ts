/** Creates many payments, and inspects plans and sizes with them. The benchmark uses it, too. */
export { fillDatabases, fillSystem } from './fill.js'
