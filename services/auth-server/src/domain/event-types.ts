import { THRESHOLD_PERCENT } from './grant-use.js'

/** Every type of event that this service tells of, and when it happens. */
export const EVENT_TYPES = {
  'grant.requested':
    'A client asked for access. It is issued at once, unless an account holder must consent.',
  'grant.approved': 'The account holder consented.',
  'grant.declined': 'The account holder declined.',
  'grant.used':
    'Room was reserved for a payment, once for each. What it does not use is returned when the payment ends, which is not told.',
  'grant.threshold': `A payment brought what is spent of a limit in its interval to ${String(THRESHOLD_PERCENT)} % of it, or beyond. Told again if it sank below since.`,
  'grant.exhausted':
    'A payment used up a limit in its interval: no other fits. Told again if something was returned since.',
  'grant.expiring':
    'In a day, or less, the last interval of everything that it allows to pay is over, or it comes to the end that was set at consent. Told once, at the latest when it is issued.',
  'grant.paused': 'Its account holder paused it: its tokens can only read.',
  'grant.resumed': 'Its account holder resumed it.',
  'grant.lowered':
    'Its account holder lowered its limits, set an earlier end, or both. `access` is what it allows from then on.',
  'grant.stopped': 'Its account holder ended it. `grant.ended` is told, too.',
  'grant.ended':
    'Its client cancelled it, its account holder stopped it, or an operator revoked it. None of its tokens is active.',
  'token.issued': 'The client collected the access token of a grant that was consented to.',
  'token.rotated': 'The client replaced its access token.',
  'token.revoked': 'The client ended its access token.',
  'client.frozen': 'An operator froze a client: it may only read.',
  'client.unfrozen': 'An operator ended the freeze of a client.',
  'audit.passed': 'What every grant has spent was checked, and every invariant holds.',
  'audit.failed': 'What every grant has spent was checked, and something is wrong.',
  'webhook_endpoint.disabled':
    'A webhook endpoint gets no more events: it took nothing for three days, or answered 410.'
} as const satisfies Readonly<Record<string, string>>

/** A type of event. */
export type EventType = keyof typeof EVENT_TYPES
