import { type IncomingRequest, requestParts } from '@open-payments-server/http-server'
import {
  type ClientKey,
  type HttpRequestParts,
  receiveSignature,
  type ReceivedSignature,
  SignatureError,
  type VerificationPolicy
} from '@open-payments-server/http-signatures'
import { isSignedWith, type NonceDependencies, useNonce } from '@open-payments-server/service-kit/signatures'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { AuthorizedRequest, RequestAuthorizer } from '../../domain/authorization.js'
import {
  clientFrozen,
  grantPaused,
  inactiveToken,
  invalidSignature,
  invalidToken,
  temporarilyUnavailable
} from '../../domain/errors.js'
import { readAccessToken } from './read-access-token.js'
import type { ActiveRecord, TokenRecord, TokenRecords } from './token-records.js'

/** What the authorizer needs. */
export interface RequestAuthorizerOptions extends NonceDependencies {
  readonly tokens: Pick<TokenRecords, 'find' | 'findNewer'>
  readonly clock: Clock
  /** Public URL of this service: the prefix of `@target-uri`. */
  readonly publicUrl: string
  readonly policy: VerificationPolicy
  /**
   * Counts a request whose token and signature were checked, before anything is stored for it: whoever only forged them, or asks
   * too often, leaves nothing behind. Throws Refusal `too-many-requests` when one of the limits is reached; undefined where nobody is limited.
   */
  readonly countVerified?: ((request: IncomingRequest, authorized: AuthorizedRequest) => void) | undefined
}

/** Methods that change nothing (RFC 9110 §9.2.1): all that a frozen client may use, or anyone under a paused grant. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** An active token, and the client's key that signed the request. */
interface Verified {
  readonly record: ActiveRecord
  readonly key: ClientKey
}

/**
 * Authorizes requests (interface 5). The signature is parsed first, because its `keyid` says which of the client's keys to
 * ask for. Errors in the token are reported first, because without a token there is no key to verify a signature with.
 * Every error in the key gets the same words, and costs one verification.
 */
export function createRequestAuthorizer(
  options: RequestAuthorizerOptions
): RequestAuthorizer<IncomingRequest> {
  return {
    async authorize(request) {
      const parts = requestParts(request, options.publicUrl)
      const accessToken = readAccessToken(parts.headers.authorization)
      if (accessToken === undefined) throw invalidToken()
      const received = receive(parts, options)
      const keyId = received instanceof SignatureError ? undefined : received.keyId
      const found = options.tokens.find(accessToken, keyId)
      // Cached answers are available at once, which is nearly always.
      const record = found instanceof Promise ? await findActive(found) : found
      if (received instanceof SignatureError) throw refused(received)
      const verified =
        verify(received, record) ??
        verify(received, await findActive(options.tokens.findNewer(accessToken, received.keyId)))
      if (verified === undefined) {
        throw refused(new SignatureError('key', 'it was not made with a current key of the client'))
      }
      // Only told to whoever signed: a token alone does not say whose it is.
      if (!SAFE_METHODS.has(request.method)) {
        if (verified.record.clientFrozen) throw clientFrozen()
        if (verified.record.grantPaused) throw grantPaused()
      }
      const authorized = toAuthorized(accessToken, verified.record, received, parts.body)
      options.countVerified?.(request, authorized)
      const replay = await useNonce(received, verified.key, options)
      if (replay !== undefined) throw refused(replay)
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
 * Introspects a token.
 *
 * @returns undefined when there was nothing to ask
 * @throws Refusal when it may not be used; AuthServerUnavailable when its status is unknown
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
    throw error instanceof SignatureError ? refused(error) : error
  }
}

/**
 * Whether the token holder signed.
 *
 * @returns undefined when someone else did
 * @throws Refusal `unavailable` when the client's keys cannot be fetched
 */
function verify(received: ReceivedSignature, record: ActiveRecord | undefined): Verified | undefined {
  if (record === undefined) return undefined
  const { key, client } = record
  if (key === 'unavailable')
    throw temporarilyUnavailable(new Error(`the keys of ${client} cannot be fetched`))
  const isSigned = isSignedWith(received, key)
  return key !== undefined && isSigned ? { record, key } : undefined
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
    tokenExpiresAtMs: record.expiresAtMs,
    grantId: record.grantId,
    client: record.client,
    access: record.access,
    consentedWalletAddress: record.consentedWalletAddress,
    body,
    keyId: received.keyId,
    signature: { createdSeconds: received.createdSeconds, bytes: received.signature }
  }
}
