import { createHash, createHmac } from 'node:crypto'
import { newId, type Random, uuidV8 } from '@open-payments-server/runtime'
import { conflict, differentRequest } from './errors.js'

/** What makes a request to create an incoming payment or a quote the same as another. */
export interface CreationIdentity {
  /** Id (UUID) of what is to be created. */
  readonly id: string
  /** SHA-256 of what was asked for; undefined for a request without an idempotency key, which is never the same as another. */
  readonly requestHash: Buffer | undefined
}

/**
 * Gives a creation its id: with an idempotency key derived from client and key, so that whoever repeats the request, on
 * whichever replica, arrives at the same id; without one, fresh. The derivation is keyed, since such an id must not be
 * guessed from a key like `order-1`. What was created is kept, and so is its key: longer than the 24 hours promised.
 *
 * @param content everything that the request asks for, by which a repeated request is told from another
 */
export function identifyCreation(
  request: { client: string; idempotencyKey: string | undefined; content: readonly (string | Uint8Array)[] },
  deps: { clock: { now(): number }; random: Random; masterKey: string }
): CreationIdentity {
  if (request.idempotencyKey === undefined) {
    return { id: newId(deps.clock, deps.random), requestHash: undefined }
  }
  // A client's name is a URL or a thumbprint: neither it nor the key can hold the line break between them.
  const derived = createHmac('sha256', deps.masterKey)
    .update(`idempotency\n${request.client}\n${request.idempotencyKey}`)
    .digest()
  const requestHash = createHash('sha256')
  for (const part of request.content) requestHash.update(part)
  return { id: uuidV8(derived), requestHash: requestHash.digest() }
}

/**
 * Takes what a creating statement returned for the answer to the request: what it made, or what the same request made
 * before.
 *
 * @param found undefined when a request with the same id had begun and not ended: neither could be seen
 * @throws PublicError 409 while the first request is running, 422 when it was another request
 */
export function acceptCreated<Found extends { readonly requestHash: Buffer | null }>(
  found: Found | undefined,
  identity: CreationIdentity
): Found {
  if (found === undefined) throw conflict('a request with this Idempotency-Key is still running')
  if (identity.requestHash !== undefined && found.requestHash?.equals(identity.requestHash) !== true) {
    throw differentRequest()
  }
  return found
}
