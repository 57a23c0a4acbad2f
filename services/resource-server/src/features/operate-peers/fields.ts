import { endpointProblem, OutgoingRequestError } from '@open-payments-server/http-client'
import { isIlpAddress } from '@open-payments-server/interledger'
import { readCallValue, readPositiveCallValue } from '../../domain/call-fields.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { PeerLimits } from '../../domain/peer.js'
import type { PeerDependencies } from './dependencies.js'

/** Allowed names of a peer. */
const NAME = /^[a-z0-9._-]{1,64}$/
/** Visible ASCII, so that a token has one spelling and fits in a header. */
const TOKEN = /^[\x21-\x7e]{1,1024}$/
/** Maximum number of further addresses of a peer. */
const ROUTES_MAX = 100
/** Maximum length of an endpoint, in characters. */
const ENDPOINT_LENGTH_MAX = 2_048

/** @throws CallRefused `invalid` */
export function assertPeerName(name: string): void {
  if (!NAME.test(name)) throw invalidCallField('name', 'must be 1 to 64 of a-z, 0-9, "-", "_" and "."')
}

/**
 * Checks a token that is presented to a peer, which chose it.
 *
 * @throws CallRefused `invalid`
 */
export function assertOutgoingToken(token: string): void {
  assertToken(token, 'outgoing_token', 1)
}

/**
 * Checks a token that is presented here: whoever guesses it sends packets as the peer.
 *
 * @throws CallRefused `invalid`
 */
export function assertIncomingToken(
  token: string,
  { incomingTokenLengthMin }: Pick<PeerDependencies, 'incomingTokenLengthMin'>
): void {
  assertToken(token, 'incoming_token', incomingTokenLengthMin)
}

function assertToken(token: string, field: string, lengthMin: number): void {
  if (token.length < lengthMin || !TOKEN.test(token)) {
    throw invalidCallField(
      field,
      `must be ${String(lengthMin)} to 1024 printable ASCII characters without spaces`
    )
  }
}

/** @throws CallRefused `invalid` naming the field */
export function assertIlpAddress(address: string, field: string): void {
  if (!isIlpAddress(address)) {
    throw invalidCallField(field, 'must be an ILP address such as g.example.bank or test.bank')
  }
}

/** @throws CallRefused `invalid` naming the route at fault */
export function assertRoutes(routes: readonly string[], field: string): void {
  if (routes.length > ROUTES_MAX) throw invalidCallField(field, `must be at most ${String(ROUTES_MAX)}`)
  routes.forEach((route, index) => {
    assertIlpAddress(route, `${field}[${String(index)}]`)
  })
}

/**
 * Checks that packets may be posted to an endpoint, as far as can be told without connecting.
 *
 * @throws CallRefused `invalid`
 */
export async function checkEndpoint(
  endpoint: string,
  { peerClient }: Pick<PeerDependencies, 'peerClient'>
): Promise<void> {
  if (endpoint.length > ENDPOINT_LENGTH_MAX) {
    throw invalidCallField('endpoint', `must have at most ${String(ENDPOINT_LENGTH_MAX)} characters`)
  }
  try {
    await peerClient.check(endpoint)
  } catch (error) {
    if (!(error instanceof OutgoingRequestError)) throw error
    throw invalidCallField('endpoint', endpointProblem(error, 'ILP_PRIVATE_NETWORKS'))
  }
}

/** The limits of a request, as they are on the wire: a decimal string; empty for none. */
export interface LimitTexts {
  readonly receivableLimitValue: string
  readonly payableLimitValue: string
  readonly packetLimitValue: string
  readonly lowAlertValue: string
  readonly highAlertValue: string
}

/** The names of limits in the contract. */
const LIMIT_FIELDS = {
  receivableLimitValue: 'receivable_limit_value',
  payableLimitValue: 'payable_limit_value',
  packetLimitValue: 'packet_limit_value',
  lowAlertValue: 'low_alert_value',
  highAlertValue: 'high_alert_value'
} as const satisfies Readonly<Record<keyof PeerLimits, string>>

/**
 * Reads a limit.
 *
 * @returns undefined for the empty text
 * @throws CallRefused `invalid` naming it
 */
export function readLimit(name: keyof PeerLimits, text: string): bigint | undefined {
  if (text === '') return undefined
  const field = LIMIT_FIELDS[name]
  return name === 'packetLimitValue' ? readPositiveCallValue(text, field) : readCallValue(text, field)
}

/**
 * Encrypts an outgoing token.
 *
 * @throws CallRefused `not-possible` without a key
 */
export function sealToken(
  peerId: string,
  token: string,
  { peerSecrets }: Pick<PeerDependencies, 'peerSecrets'>
): Promise<string> {
  if (peerSecrets === undefined) {
    throw new CallRefused(
      'not-possible',
      'the service has no PEER_SECRET_KEY, with which tokens are encrypted'
    )
  }
  return peerSecrets.seal(peerId, token)
}
