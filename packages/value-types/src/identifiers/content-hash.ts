import { createHash } from 'node:crypto'

/** What makes a reservation the one of a certain request. */
export interface ReservationContent {
  /** SHA-256 of the client's request. */
  readonly requestHash: Uint8Array
  /** URL of the wallet address that pays. */
  readonly walletAddress: string
  /** URL of the incoming payment that is paid. */
  readonly receiver: string
}

/**
 * SHA-256 that identifies a reservation request: two calls with one payment id are the same request if their hashes are
 * equal. The token is not part of it, because a client that repeats its request may have rotated it. Nor are the amounts,
 * because those of a repeated request follow the exchange rate.
 *
 * The auth server stores it with each reservation, and the audit of the resource server computes it from the payment.
 *
 * @param grantId id (UUID) of the grant; undefined for a token that was not issued here
 */
export function contentHash(
  { requestHash, walletAddress, receiver }: ReservationContent,
  grantId: string | undefined
): Buffer {
  // JSON separates the parts, so that no two contents give the same text.
  const content = JSON.stringify([
    grantId ?? null,
    Buffer.from(requestHash).toString('hex'),
    walletAddress,
    receiver
  ])
  return createHash('sha256').update(content).digest()
}
