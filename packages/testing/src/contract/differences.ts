import type { Exchange } from './exchange.js'

/** A member of a body that deliberately differs from the description. */
export interface DecidedMember {
  readonly name: string
  /** In the form of descriptions: `GET /quotes/{id}`. */
  readonly operations: readonly string[]
  readonly reason: string
  /** Whether this request should get it; always unless given. */
  readonly when?: (exchange: Exchange) => boolean
}

/** Clients that accept only JSON get the published shape. */
function acceptsMoreThanJson({ accept }: Exchange): boolean {
  return accept !== 'application/json'
}

/** Every member that is deliberately returned and not described. */
export const DECIDED_MEMBERS: readonly DecidedMember[] = [
  {
    name: 'updatedAt',
    operations: [
      'GET /incoming-payments',
      'POST /incoming-payments/{id}/complete',
      'GET /outgoing-payments/{id}',
      'GET /outgoing-payments'
    ],
    reason:
      'the full representation has it; these four schemas are closed, so who asks for JSON only gets none',
    when: acceptsMoreThanJson
  },
  {
    name: 'state',
    operations: ['GET /outgoing-payments/{id}', 'GET /outgoing-payments'],
    reason:
      'that it awaits approval; the full representation has it meanwhile, and the published schemas are closed',
    when: acceptsMoreThanJson
  },
  {
    name: 'failureReason',
    operations: ['GET /outgoing-payments/{id}', 'GET /outgoing-payments'],
    reason: 'why it failed; the full representation has it, and the published schemas are closed',
    when: acceptsMoreThanJson
  },
  ...['refundOf', 'refundedAmount'].map((name) => ({
    name,
    operations: [
      'GET /incoming-payments',
      'POST /incoming-payments/{id}/complete',
      'GET /outgoing-payments/{id}',
      'GET /outgoing-payments'
    ],
    reason: 'refunds; the full representation has them, and the published schemas are closed',
    when: acceptsMoreThanJson
  })),
  {
    name: 'refunds',
    operations: ['POST /incoming-payments/{id}/complete', 'GET /outgoing-payments/{id}'],
    reason: 'the newest refunds; the full representation has them, and the published schemas are closed',
    when: acceptsMoreThanJson
  },
  ...['refundOf', 'refundedAmount', 'refunds'].map((name) => ({
    name,
    operations: ['GET /incoming-payments/{id}'],
    reason: 'refunds; the full representation has them, and this schema is open'
  })),
  {
    name: 'refundOf',
    operations: ['POST /outgoing-payments'],
    reason: 'the payment that it refunds, as it was asked for; this schema is open'
  },
  {
    name: 'updatedAt',
    operations: ['POST /incoming-payments', 'GET /incoming-payments/{id}', 'POST /outgoing-payments'],
    reason: 'the full representation has it, and these schemas are open'
  }
]

/**
 * Members of the access items of a token, by their type, that are deliberately returned and not described: every item may name what
 * it applies to (interface 2.3), and a client gets back what it asked for.
 */
export const DECIDED_ACCESS_MEMBERS: Readonly<Record<string, readonly string[]>> = { quote: ['identifier'] }

/** An error code that deliberately differs from the described ones. */
export interface DecidedCode {
  readonly code: string
  readonly statuses: readonly number[]
  readonly operations: readonly string[]
  readonly reason: string
}

/** Every error code that deliberately differs from the described ones. */
export const DECIDED_CODES: readonly DecidedCode[] = [
  {
    code: 'user_denied',
    statuses: [401],
    operations: ['POST /continue/{id}'],
    reason: 'the account holder declined (RFC 9635 §3.6)'
  },
  {
    code: 'invalid_request',
    statuses: [400],
    operations: ['POST /continue/{id}', 'POST /token/{id}'],
    reason: 'a body or field is malformed'
  },
  {
    code: 'invalid_client',
    statuses: [400],
    operations: ['POST /token/{id}'],
    reason: 'the client has no keys any more: the same answer as for continuing and revoking'
  },
  {
    code: 'invalid_request',
    statuses: [404],
    operations: [
      'GET /grant/{id}/{nonce}',
      'POST /grant/{id}/{nonce}/accept',
      'POST /grant/{id}/{nonce}/reject'
    ],
    reason: 'the public listener has no such path'
  }
]

/**
 * Statuses that may occur everywhere, though few operations describe them, with the reason. Their body is our error body.
 */
export const UNDESCRIBED_STATUSES: ReadonlyMap<number, string> = new Map([
  [400, 'malformed input; the published descriptions have it for some operations only'],
  [401, 'a signature or a secret that is not valid'],
  [403, 'a token that does not allow it'],
  [404, 'nothing is there'],
  [405, 'the method is not for this path'],
  [408, 'the request came too slowly'],
  [409, 'the state of the resource, or an idempotency key in use, does not allow it'],
  [411, 'a body of unknown length'],
  [413, 'the body is too large'],
  [414, 'the URL is too long'],
  [415, 'the body is compressed, or no JSON'],
  [422, 'an idempotency key came with another body'],
  [429, 'a rate limit'],
  [431, 'the headers are too large'],
  [500, 'something unexpected, without internals'],
  [503, 'something that is needed does not answer now']
])

/** Operations that are deliberately answered without a description, with the reason. */
export const UNDESCRIBED_OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['OPTIONS /', 'discovery of the grant endpoint (RFC 9635 §9)'],
  ['RAW /', 'bytes that a test wrote itself: which request they were is not known, only that errors are ours']
])

/** Path below which errors may be pages, for those who ask for pages: people open it in their browsers. */
export const PAGES_PATH = '/interact/'

/** Paths that answer GET for operators, in their own form. */
export const OPERATIONAL_PATHS: readonly string[] = [
  '/healthz',
  '/readyz',
  '/metrics',
  '/.well-known/gnap-as-rs'
]
