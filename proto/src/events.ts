export * from './generated/openpayments/events/v1/event_service.js'
