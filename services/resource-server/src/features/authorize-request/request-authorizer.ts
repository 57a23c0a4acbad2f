import { requestParts } from '@open-payments-server/http-server'
import {
  type HttpRequestParts,
  receiveSignature,
  type ReceivedSignature,
  SignatureError,
  type VerificationPolicy,
  verifySignature
} from '@open-payments-server/http-signatures'
import { type Clock, hashSecret } from '@open-payments-server/runtime'
import { type SharedStore, SharedStoreUnavailable } from '@open-payments-server/shared-store'
import type { AuthorizedRequest, RequestAuthorizer } from '../../domain/authorization.js'
import { inactiveToken, invalidSignature, invalidToken, temporarilyUnavailable } from '../../domain/errors.js'
import { AuthServerUnavailable } from '../../domain/ports.js'
import { readAccessToken } from './read-access-token.js'
import type { ActiveRecord, TokenRecords } from './token-records.js'

/** What the authorizer needs. */
export interface RequestAuthorizerOptions {
  readonly tokens: Pick<TokenRecords, 'find'>
  readonly sharedStore: Pick<SharedStore, 'markOnce'>
  readonly clock: Clock
  /** Where clients reach this service: what `@target-uri` begins with. */
  readonly publicUrl: string
  readonly policy: VerificationPolicy
}

/**
 * Checks requests (interface 5). The signature is read first, for its `keyid` tells which of the client's keys to ask for;
 * what is wrong with the token is told first, because without a token there is no key to check a signature with.
 */
export function createRequestAuthorizer(options: RequestAuthorizerOptions): RequestAuthorizer {
  return {
    async authorize(request) {
      const parts = requestParts(request, options.publicUrl)
      const accessToken = readAccessToken(parts.headers.authorization)
      if (accessToken === undefined) throw invalidToken()
      const received = receive(parts, options)
      const keyId = received instanceof SignatureError ? undefined : received.keyId
      const record = await findActive(accessToken, keyId, options.tokens)
      if (received instanceof SignatureError) throw refused(received)
      const publicKey = verify(received, record)
      await useNonce(received, publicKey, options)
      return toAuthorized(accessToken, record, received, parts.body)
    }
  }
}

function receive(
  parts: HttpRequestParts,
  { policy, clock }: RequestAuthorizerOptions
): ReceivedSignature | SignatureError {
  try {
    return receiveSignature(parts, policy, clock.now())
  } catch (error) {
    if (error instanceof SignatureError) return error
    throw error
  }
}

async function findActive(
  accessToken: string,
  keyId: string | undefined,
  tokens: RequestAuthorizerOptions['tokens']
): Promise<ActiveRecord> {
  const record = await findRecord(accessToken, keyId, tokens)
  switch (record.status) {
    case 'unknown':
      throw invalidToken()
    case 'inactive':
      throw inactiveToken()
    case 'active':
      return record
  }
}

async function findRecord(
  accessToken: string,
  keyId: string | undefined,
  tokens: RequestAuthorizerOptions['tokens']
): ReturnType<TokenRecords['find']> {
  try {
    return await tokens.find(accessToken, keyId)
  } catch (error) {
    if (error instanceof AuthServerUnavailable) throw temporarilyUnavailable(error)
    if (error instanceof SignatureError) throw refused(error)
    throw error
  }
}

/** @returns the key that verified */
function verify(received: ReceivedSignature, record: ActiveRecord): NonNullable<ActiveRecord['key']> {
  if (record.key === undefined) throw invalidSignature('keyid names no current key of the client')
  try {
    verifySignature(received, record.key)
  } catch (error) {
    throw error instanceof SignatureError ? refused(error) : error
  }
  return record.key
}

/** A nonce, where present, is used once by its key. The mark outlives the time for which the signature is fresh. */
async function useNonce(
  received: ReceivedSignature,
  key: NonNullable<ActiveRecord['key']>,
  { sharedStore, policy }: RequestAuthorizerOptions
): Promise<void> {
  if (received.nonce === undefined) return
  const { x = '' } = key.publicKey.export({ format: 'jwk' })
  const mark = `nonce:${hashSecret(`${x}\n${received.nonce}`).toString('base64url')}`
  const lifetimeSeconds = policy.ageMaxSeconds + policy.futureMaxSeconds + 1
  if (!(await markOnce(sharedStore, mark, lifetimeSeconds))) {
    throw invalidSignature('the nonce was used before')
  }
}

async function markOnce(
  sharedStore: RequestAuthorizerOptions['sharedStore'],
  mark: string,
  lifetimeSeconds: number
): Promise<boolean> {
  try {
    return await sharedStore.markOnce(mark, lifetimeSeconds)
  } catch (error) {
    // Whether the nonce is fresh is not known, so the request is not answered.
    throw error instanceof SharedStoreUnavailable ? temporarilyUnavailable(error) : error
  }
}

function refused(error: SignatureError) {
  return invalidSignature(error.message, error)
}

function toAuthorized(
  accessToken: string,
  record: ActiveRecord,
  received: ReceivedSignature,
  body: Uint8Array | undefined
): AuthorizedRequest {
  return {
    accessToken,
    grantId: record.grantId,
    client: record.client,
    access: record.access,
    body,
    signature: { createdSeconds: received.createdSeconds, bytes: received.signature }
  }
}
