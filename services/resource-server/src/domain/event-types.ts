/** Every type of event that this service tells of, and when it happens. */
export const EVENT_TYPES = {
  'incoming_payment.created': 'A client asked for money.',
  'incoming_payment.received': 'Money arrived.',
  'incoming_payment.completed': 'Nothing more is expected: all of it arrived, or its client completed it.',
  'outgoing_payment.created': 'A client pays. Its money is on hold.',
  'outgoing_payment.completed': 'The receiver has all of it.',
  'outgoing_payment.failed': 'It ended otherwise: what was not sent is available again.',
  'refund.created':
    'What a payment delivered is given back, or a part of it, by the provider or by a payment.',
  'refund.completed': 'The payer has it.',
  'refund.failed': 'The payment that was to make it failed, and sent nothing back.'
} as const satisfies Readonly<Record<string, string>>

/** A type of event. */
export type EventType = keyof typeof EVENT_TYPES
