import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  DEFAULT_POLICY,
  type HttpRequestParts,
  type ReceivedSignature,
  receiveSignature,
  SignatureError,
  type VerificationPolicy,
  verifySignature
} from '../src/index.js'
import { type SigningOptions, signRequest } from '../src/sign.js'

/** The key `test-key-ed25519`, published in RFC 9421 Appendix B.1.4. */
export const rfcPrivateKey: KeyObject = createPrivateKey({
  key: Buffer.from('MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF', 'base64'),
  format: 'der',
  type: 'pkcs8'
})
export const rfcPublicKey: KeyObject = createPublicKey({
  key: Buffer.from('MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=', 'base64'),
  format: 'der',
  type: 'spki'
})

/** A client's key pair, new in every run. */
export const client = { kid: 'client-key', ...generateKeyPairSync('ed25519') }

/** The moment at which the tests take place. */
export const nowSeconds = 1_767_225_600
export const nowMs = nowSeconds * 1000

/** A creation with a body and a token, not signed yet. */
export const creation: HttpRequestParts = {
  method: 'POST',
  targetUri: 'https://wallet.example/outgoing-payments?trace=1',
  headers: {
    authorization: 'GNAP 8aXc0token',
    'content-type': 'application/json',
    'content-length': '15'
  },
  body: Buffer.from('{"value":"100"}')
}

/** A read with a token, not signed yet. */
export const reading: HttpRequestParts = {
  method: 'GET',
  targetUri: 'https://wallet.example/incoming-payments/1',
  headers: { authorization: 'GNAP 8aXc0token' },
  body: undefined
}

/** The request with the headers of a signature by {@link client}. */
export function signed(request: HttpRequestParts, options: Partial<SigningOptions> = {}): HttpRequestParts {
  const headers = signRequest(request, {
    privateKey: client.privateKey,
    keyId: client.kid,
    createdSeconds: nowSeconds,
    ...options
  })
  return withHeaders(request, headers)
}

/** The request with headers added, replaced or, where `undefined`, removed. */
export function withHeaders(
  request: HttpRequestParts,
  headers: HttpRequestParts['headers']
): HttpRequestParts {
  return { ...request, headers: { ...request.headers, ...headers } }
}

export function receive(
  request: HttpRequestParts,
  policy: Partial<VerificationPolicy> = {}
): ReceivedSignature {
  return receiveSignature(request, { ...DEFAULT_POLICY, ...policy }, nowMs)
}

/** Verifies with {@link client}'s key, or another; answers what was verified. */
export function verified(
  received: ReceivedSignature,
  key: Parameters<typeof verifySignature>[1] = client
): ReceivedSignature {
  verifySignature(received, key)
  return received
}

/** Receives and verifies, as a service does. */
export function accept(
  request: HttpRequestParts,
  policy: Partial<VerificationPolicy> = {}
): ReceivedSignature {
  return verified(receive(request, policy))
}

/** Why something is refused: the reason of its error, or `accepted`. Any other error is thrown on. */
export function resultOf(compute: () => unknown): string {
  try {
    compute()
    return 'accepted'
  } catch (error) {
    if (error instanceof SignatureError) {
      return error.reason
    }
    throw error
  }
}
