import { createHash } from 'node:crypto'
import { conflict, differentRequest } from './errors.js'

/** Identifies a request to create an incoming payment or a quote: two requests with the same identity are the same. */
export interface CreationIdentity {
  /** SHA-256 of the client and its idempotency key: unique among the resources of one kind. */
  readonly idempotencyHash: Buffer
  /** SHA-256 of the grant and the requested content. */
  readonly requestHash: Buffer
}

/**
 * Identifies a request, so that a repetition is recognized on any replica. What was created is stored together with its
 * key, longer than the 24 hours promised.
 *
 * @param request.content everything that the request asks for; distinguishes a repeated request from another one
 * @returns undefined for a request without an idempotency key, which is never the same as another
 */
export function identifyCreation(request: {
  client: string
  /** Id (UUID) of the grant that it comes under. */
  grantId: string
  idempotencyKey: string | undefined
  content: readonly (string | Uint8Array)[]
}): CreationIdentity | undefined {
  const { client, grantId, idempotencyKey, content } = request
  if (idempotencyKey === undefined) return undefined
  return {
    // A client's name is a URL or a thumbprint: neither it nor the key can contain the line break between them.
    idempotencyHash: sha256(`${client}\n${idempotencyKey}`),
    requestHash: sha256(`${grantId}\n`, ...content)
  }
}

/**
 * Turns the result of a creating statement into the answer: what this request created, or what the same request created
 * before.
 *
 * @param found undefined when a request with the same key was just refused or purged: the key is free again
 * @throws Refusal `conflict` when nothing was found, `different-request` when it was another request
 */
export function acceptCreated<Found extends { readonly requestHash: Uint8Array | null }>(
  found: Found | undefined,
  identity: CreationIdentity | undefined
): Found {
  if (found === undefined) throw conflict('a request with this Idempotency-Key is still running')
  const same =
    identity === undefined || (found.requestHash !== null && identity.requestHash.equals(found.requestHash))
  if (!same) throw differentRequest()
  return found
}

/** SHA-256 over the parts, one after the other. */
export function sha256(...parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
