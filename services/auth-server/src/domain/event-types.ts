/** Every type of event that this service tells of, and when it happens. */
export const EVENT_TYPES = {
  'grant.requested':
    'A client asked for access. It is issued at once, unless an account holder must consent.',
  'grant.approved': 'The account holder consented.',
  'grant.declined': 'The account holder declined.',
  'grant.ended': 'Its client cancelled it, or an operator revoked it. None of its tokens is active.',
  'token.issued': 'The client collected the access token of a grant that was consented to.',
  'token.rotated': 'The client replaced its access token.',
  'token.revoked': 'The client ended its access token.',
  'audit.passed': 'What every grant has spent was checked, and every invariant holds.',
  'audit.failed': 'What every grant has spent was checked, and something is wrong.',
  'webhook_endpoint.disabled':
    'A webhook endpoint gets no more events: it took nothing for three days, or answered 410.'
} as const satisfies Readonly<Record<string, string>>

/** A type of event. */
export type EventType = keyof typeof EVENT_TYPES
