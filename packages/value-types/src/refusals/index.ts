export {
  CommonRefusal,
  type CommonReason,
  FieldRefusal,
  invalidField,
  Refusal,
  type RefusalOptions
} from './refusal.js'
export { COMMON_WORDS, type ErrorWords } from './words.js'
