export { Refusal, type RefusalOptions } from './refusal.js'
