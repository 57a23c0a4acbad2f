export { CommonRefusal, type CommonReason, invalidField, Refusal, type RefusalOptions } from './refusal.js'
