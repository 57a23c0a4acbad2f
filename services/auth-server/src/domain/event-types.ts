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
  'client.frozen': 'An operator froze a client: it may only read.',
  'client.unfrozen': 'An operator ended the freeze of a client.'
} as const satisfies Readonly<Record<string, string>>

/** A type of event. */
export type EventType = keyof typeof EVENT_TYPES
