/** Every type of event that this service tells of, and when it happens. */
export const EVENT_TYPES = {
  'incoming_payment.created': 'A client asked for money.',
  'incoming_payment.received': 'Money arrived.',
  'incoming_payment.completed': 'Nothing more is expected: all of it arrived, or its client completed it.',
  'outgoing_payment.created': 'A client pays. Its money is on hold.',
  'outgoing_payment.awaiting_approval': 'It met a rule: the provider is to approve or decline it.',
  'outgoing_payment.processing': 'The provider approved it.',
  'outgoing_payment.completed': 'The receiver has all of it.',
  'outgoing_payment.failed': 'It ended otherwise: what was not sent is available again.'
} as const satisfies Readonly<Record<string, string>>

/** A type of event. */
export type EventType = keyof typeof EVENT_TYPES
