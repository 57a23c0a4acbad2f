import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import {
  DEFAULT_POLICY,
  type HttpRequestParts,
  type ReceivedSignature,
  receiveSignature,
  SignatureError,
  type SigningOptions,
  signRequest
} from '@open-payments-server/http-signatures'

/** The moment at which everything is signed and received, in seconds since 1970. */
export const NOW_SECONDS = 1_767_225_600

/** A key that is the same in every run, so that every run makes the same cases of a seed. */
function privateKeyOf(byte: string): KeyObject {
  const key = Buffer.from(`302e020100300506032b657004220420${byte.repeat(32)}`, 'hex')
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

const privateKey = privateKeyOf('11')

/** The key of the client that signs. */
export const CLIENT_KEY = { kid: 'client-key', publicKey: createPublicKey(privateKey) }

/** The private key of somebody else. */
export const STRANGERS_KEY = privateKeyOf('22')

/** How a signature was refused; undefined for any other error. */
export function refusalOfSignature(error: unknown): string | undefined {
  return error instanceof SignatureError ? error.reason : undefined
}

/** Receives a signature as the services do. */
export function receive(request: HttpRequestParts): ReceivedSignature {
  return receiveSignature(request, DEFAULT_POLICY, NOW_SECONDS * 1_000)
}

/** The request with the headers of a signature, by the client unless told otherwise. */
export function sign(request: HttpRequestParts, options: Partial<SigningOptions> = {}): HttpRequestParts {
  const signing = { privateKey, keyId: CLIENT_KEY.kid, createdSeconds: NOW_SECONDS, ...options }
  return withHeaders(request, signRequest(request, signing))
}

/** The request with headers added, replaced or, where `undefined`, removed. */
export function withHeaders(
  request: HttpRequestParts,
  headers: HttpRequestParts['headers']
): HttpRequestParts {
  return { ...request, headers: { ...request.headers, ...headers } }
}

/** A header's values as one; empty when it is absent. */
export function headerOf(request: HttpRequestParts, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : (value ?? []).join(', ')
}
