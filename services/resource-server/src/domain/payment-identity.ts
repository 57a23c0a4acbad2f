import { uuidV7, uuidV8 } from '@open-payments-server/value-types/identifiers'
import type { AuthorizedRequest } from './authorization.js'
import { invalidField } from './errors.js'
import { sha256 } from './idempotency.js'

/** Visible ASCII, so that a key has one spelling through all proxies. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Number of further payment ids one request may get after earlier ones were given up. */
const PAYMENT_ID_ATTEMPTS_MAX = 4

/**
 * Identifies a request to create an outgoing payment. The payment's id is derived from it, so a repeated request leads to
 * the same payment on any replica.
 */
export interface PaymentIdentity {
  /**
   * Ids (UUID) that the payment may get, in order. The next is used only if the one before was given up for good: a
   * reservation under it was released without a payment. So at most one of them ever becomes a payment.
   */
  readonly paymentIds: readonly [string, ...string[]]
  /** Id (UUID) of the signed request itself. No two payments share one, even if an idempotency key tells them apart. */
  readonly signatureId: string
  /** SHA-256 over the method, path and body. */
  readonly requestHash: Buffer
}

/**
 * Derives the identity of a request to create an outgoing payment.
 *
 * Without an idempotency key, the id is a UUID version 7 of the signature's `created` and SHA-256: Ed25519 is
 * deterministic, so the same signed request has the same bytes. With a key, it is a UUID version 8 (RFC 9562 §5.8) of the
 * SHA-256 of client and key, without a time: the same key must give the same id at any time.
 *
 * @param idempotencyKey as returned by {@link readIdempotencyKey}
 * @param target method and path of the request
 */
export function identifyPayment(
  request: Pick<AuthorizedRequest, 'client' | 'signature' | 'body'>,
  idempotencyKey: string | undefined,
  target: { method: string; path: string }
): PaymentIdentity {
  const { createdSeconds, bytes } = request.signature
  const idOfSignature = (attempt: number): string =>
    uuidV7(createdSeconds * 1000, sha256(bytes, attemptSuffix(attempt)))
  // A client's name is a URL or a thumbprint: neither it nor the key can contain the line break between them.
  const idOfKey = (attempt: number): string =>
    uuidV8(sha256(`${request.client}\n${idempotencyKey ?? ''}`, attemptSuffix(attempt)))
  const idOf = idempotencyKey === undefined ? idOfSignature : idOfKey
  const further = Array.from({ length: PAYMENT_ID_ATTEMPTS_MAX - 1 }, (_, index) => idOf(index + 1))
  return {
    paymentIds: [idOf(0), ...further],
    signatureId: idOfSignature(0),
    requestHash: sha256(`${target.method} ${target.path}\n`, request.body ?? '')
  }
}

/**
 * Reads the header `Idempotency-Key`.
 *
 * @throws Refusal `invalid-field` when it is not 1 to 255 visible ASCII characters
 */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (!IDEMPOTENCY_KEY.test(header)) {
    throw invalidField('Idempotency-Key', 'must be 1 to 255 visible ASCII characters')
  }
  return header
}

function attemptSuffix(attempt: number): string {
  return attempt === 0 ? '' : `\n${String(attempt)}`
}
