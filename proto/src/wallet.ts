// Every generated file repeats these helpers; naming them once settles which one is meant.
export {
  type DeepPartial,
  type MessageFns,
  protobufFileName,
  protobufPackage
} from './generated/openpayments/wallet/v1/wallet_operator_service.js'
export * from './generated/openpayments/wallet/v1/wallet_operator_service.js'
export * from './generated/openpayments/wallet/v1/holder_service.js'
export * from './generated/openpayments/wallet/v1/peer_service.js'
