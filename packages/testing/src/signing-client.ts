import type { KeyObject } from 'node:crypto'
import { signRequest, type SigningOptions } from '@open-payments-server/http-signatures/sign'
import type { Clock } from '@open-payments-server/value-types/clock'
import { holdToContract, type OutsideContract } from './contract-keeper.js'

/** The signer, and its clock. */
export interface SigningClientOptions {
  readonly keyId: string
  readonly privateKey: KeyObject
  /** Provides `created`; default: the system's clock. */
  readonly clock?: Clock
  /** Actual URL for the signed one, as behind a proxy; default: the same. */
  readonly connect?: (url: string) => string
}

/** The content of a request besides its method and URL. */
export interface SignedRequestOptions {
  /** Sent as JSON; a string or bytes are sent as they are. */
  readonly body?: unknown
  /** Sent as `Authorization: GNAP <token>`. */
  readonly accessToken?: string
  /** Additional headers, names in lower case. They override those above. */
  readonly headers?: Readonly<Record<string, string>>
  /** How the signature differs from that of a normal client. */
  readonly signature?: Partial<Omit<SigningOptions, 'privateKey'>>
  /** Leaves the signature out. */
  readonly unsigned?: boolean
  /** Changes the headers after signing: to tamper with them. */
  readonly tamper?: (headers: Record<string, string>) => void
  /** The reason why the answer is not checked against the contract. */
  readonly outsideContract?: OutsideContract
}

/** A completely read answer. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined when it is not JSON. */
  readonly body: unknown
  /** The value in the body at a path such as `access_token.value`; undefined when there is none. */
  at(path: string): unknown
  /**
   * The text in the body at a path.
   *
   * @throws Error when there is none: the test got another answer
   */
  textAt(path: string): string
}

/** Sends requests as a client: signed with its key. */
export interface SigningClient {
  /** Follows no redirect. */
  request(method: string, url: string, options?: SignedRequestOptions): Promise<Answer>
}

/** A client that signs as the clients of Open Payments do: label `sig1`, `created` and `keyid`. */
export function createSigningClient(client: SigningClientOptions): SigningClient {
  const { keyId, privateKey, clock, connect = (url: string) => url } = client
  return {
    async request(method, url, options = {}) {
      const body = encodeBody(options.body)
      const headers: Record<string, string> = {
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(body.length) }),
        ...(options.accessToken === undefined ? {} : { authorization: `GNAP ${options.accessToken}` }),
        ...options.headers
      }
      if (options.unsigned !== true) {
        // A URL without a path is requested, and signed, with a slash.
        const parts = { method, targetUri: new URL(url).href, headers, body }
        const createdSeconds = Math.floor((clock?.now() ?? Date.now()) / 1_000)
        Object.assign(
          headers,
          signRequest(parts, { keyId, privateKey, createdSeconds, ...options.signature })
        )
      }
      options.tamper?.(headers)
      return send(method, connect(url), headers, body, options.outsideContract)
    }
  }
}

/**
 * Sends a request without a signature, and reads the whole answer. Does not follow redirects. The answer is checked against
 * the contract, the published descriptions and our own.
 *
 * @param outsideContract the reason why the answer is not checked against it
 * @throws ContractViolation when it does not match
 */
export async function send(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>> = {},
  body?: Uint8Array,
  outsideContract?: OutsideContract
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...headers },
    redirect: 'manual',
    ...(body === undefined ? {} : { body: Buffer.from(body) })
  })
  const text = await response.text()
  if (outsideContract === undefined) {
    await holdToContract({
      method,
      url,
      accept: headers.accept,
      status: response.status,
      header: (name) => response.headers.get(name),
      text
    })
  }
  return createAnswer(response.status, response.headers, text)
}

function createAnswer(status: number, headers: Headers, text: string): Answer {
  const body = parseJson(text)
  const at = (path: string): unknown =>
    path
      .split('.')
      .reduce<unknown>(
        (value, name) =>
          typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined,
        body
      )
  return {
    status,
    headers,
    text,
    body,
    at,
    textAt(path) {
      const value = at(path)
      if (typeof value !== 'string') throw new Error(`no text at ${path} in ${String(status)} ${text}`)
      return value
    }
  }
}

function encodeBody(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined
  if (body instanceof Uint8Array) return Buffer.from(body)
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
