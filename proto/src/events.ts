// Every generated file repeats these helpers; naming them once settles which one is meant.
export {
  type DeepPartial,
  type MessageFns,
  protobufFileName,
  protobufPackage
} from './generated/openpayments/events/v1/event_service.js'
export * from './generated/openpayments/events/v1/event_service.js'
export * from './generated/openpayments/events/v1/webhook_service.js'
