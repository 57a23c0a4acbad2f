export * from './generated/openpayments/wallet/v1/wallet_operator_service.js'
