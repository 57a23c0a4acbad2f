export { type Contract, loadContract } from './contract.js'
export { DECIDED_CODES, DECIDED_MEMBERS, UNDESCRIBED_STATUSES } from './differences.js'
export type { Exchange } from './exchange.js'
