export {
  CommonRefusal,
  type CommonReason,
  FieldRefusal,
  invalidField,
  Refusal,
  type RefusalOptions
} from './refusal.js'
