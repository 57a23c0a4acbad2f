export { FieldRefusal, Refusal, type RefusalOptions } from './refusal.js'
