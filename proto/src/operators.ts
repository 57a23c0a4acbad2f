export * from './generated/openpayments/operators/v1/operator_action_service.js'
