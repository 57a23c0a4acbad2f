// Every generated file repeats these helpers; naming them once settles which one is meant.
export {
  type DeepPartial,
  type MessageFns,
  protobufFileName,
  protobufPackage
} from './generated/openpayments/auth/v1/access.js'
export * from './generated/openpayments/auth/v1/access.js'
export * from './generated/openpayments/auth/v1/grant_limits_service.js'
export * from './generated/openpayments/auth/v1/grant_operator_service.js'
export * from './generated/openpayments/auth/v1/holder_grant_service.js'
export * from './generated/openpayments/auth/v1/introspection_service.js'
