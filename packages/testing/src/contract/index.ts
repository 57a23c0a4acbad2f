export { type Contract, loadContract } from './contract.js'
export type { Exchange } from './exchange.js'
