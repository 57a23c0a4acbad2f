import { generateKeyPairSync } from 'node:crypto'
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
import type { AuthorizedRequest, CountVerified, RequestAuthorizer } from '../../domain/authorization.js'
import { inactiveToken, invalidSignature, invalidToken, temporarilyUnavailable } from '../../domain/errors.js'
import { AuthServerUnavailable } from '../../domain/ports.js'
import { readAccessToken } from './read-access-token.js'
import type { ActiveRecord, ReadyKey, TokenRecord, TokenRecords } from './token-records.js'

/** Stands in where there is no key to verify with. Nobody has its private half. */
const { publicKey: NOBODYS_KEY } = generateKeyPairSync('ed25519')

/** What the authorizer needs. */
export interface RequestAuthorizerOptions {
  readonly tokens: Pick<TokenRecords, 'find' | 'findNewer'>
  readonly sharedStore: Pick<SharedStore, 'markOnce'>
  readonly clock: Clock
  /** Where clients reach this service: what `@target-uri` begins with. */
  readonly publicUrl: string
  readonly policy: VerificationPolicy
  /** Counts whose token and signature were checked, before anything is stored for the request; undefined where nobody is limited. */
  readonly countVerified?: CountVerified | undefined
}

/** A token that may be used, and the key of its holder that signed the request. */
interface Verified {
  readonly record: ActiveRecord
  readonly key: ReadyKey
}

/**
 * Checks requests (interface 5). The signature is read first, for its `keyid` tells which of the client's keys to ask for;
 * what is wrong with the token is told first, because without a token there is no key to check a signature with. Whatever
 * is wrong with the key is told in the same words, and costs one verification.
 */
export function createRequestAuthorizer(options: RequestAuthorizerOptions): RequestAuthorizer {
  return {
    async authorize(request) {
      const parts = requestParts(request, options.publicUrl)
      const accessToken = readAccessToken(parts.headers.authorization)
      if (accessToken === undefined) throw invalidToken()
      const received = receive(parts, options)
      const keyId = received instanceof SignatureError ? undefined : received.keyId
      const found = options.tokens.find(accessToken, keyId)
      // What is kept is known at once, which is nearly always.
      const record = found instanceof Promise ? await findActive(found) : found
      if (received instanceof SignatureError) throw refused(received)
      const verified =
        verify(received, record) ??
        verify(received, await findActive(options.tokens.findNewer(accessToken, received.keyId)))
      if (verified === undefined) {
        throw refused(new SignatureError('key', 'it was not made with a current key of the client'))
      }
      const authorized = toAuthorized(accessToken, verified.record, received, parts.body)
      options.countVerified?.(request, authorized)
      if (received.nonce !== undefined) await useNonce(received, received.nonce, verified.key, options)
      return authorized
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

/**
 * Asks what a token is worth.
 *
 * @returns undefined when there was nothing to ask
 * @throws Refusal when it may not be used, or nobody can tell
 */
async function findActive(asked: Promise<TokenRecord | undefined>): Promise<ActiveRecord | undefined> {
  const record = await findRecord(asked)
  switch (record?.status) {
    case 'unknown':
      throw invalidToken()
    case 'inactive':
      throw inactiveToken()
    case 'active':
    case undefined:
      return record
  }
}

async function findRecord(asked: Promise<TokenRecord | undefined>): Promise<TokenRecord | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof AuthServerUnavailable) throw temporarilyUnavailable(error)
    if (error instanceof SignatureError) throw refused(error)
    throw error
  }
}

/**
 * Whether the holder of a token signed.
 *
 * @returns undefined when somebody else did
 * @throws Refusal `unavailable` when nobody can tell which keys the client has
 */
function verify(received: ReceivedSignature, record: ActiveRecord | undefined): Verified | undefined {
  if (record === undefined) return undefined
  const { key, client } = record
  if (key === 'unavailable')
    throw temporarilyUnavailable(new Error(`the keys of ${client} cannot be fetched`))
  const isSigned = isSignedWith(received, key ?? { kid: received.keyId, publicKey: NOBODYS_KEY })
  return key !== undefined && isSigned ? { record, key } : undefined
}

function isSignedWith(received: ReceivedSignature, key: Pick<ReadyKey, 'kid' | 'publicKey'>): boolean {
  try {
    verifySignature(received, key)
    return true
  } catch (error) {
    if (error instanceof SignatureError) return false
    throw error
  }
}

/** A nonce is used once by its key. The mark outlives the time for which the signature is fresh. */
async function useNonce(
  received: ReceivedSignature,
  nonce: string,
  key: ReadyKey,
  { sharedStore, policy }: RequestAuthorizerOptions
): Promise<void> {
  const mark = `nonce:${hashSecret(`${key.x}\n${nonce}`).toString('base64url')}`
  const lifetimeSeconds = policy.ageMaxSeconds + policy.futureMaxSeconds + 1
  const marking = sharedStore.markOnce(mark, lifetimeSeconds, received.createdSeconds)
  if (!(await known(marking))) {
    throw refused(new SignatureError('nonce', 'its nonce was used before, or may have been'))
  }
}

async function known(marking: Promise<boolean>): Promise<boolean> {
  try {
    return await marking
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
    consentedWalletAddress: record.consentedWalletAddress,
    body,
    signature: { createdSeconds: received.createdSeconds, bytes: received.signature }
  }
}
