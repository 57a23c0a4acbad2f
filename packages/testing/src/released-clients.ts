import { createHash, type KeyObject, sign } from 'node:crypto'

/** A request that a client is asked to make. */
export interface ClientCall {
  readonly method: 'DELETE' | 'GET' | 'POST'
  /** As the client writes it, normalised as its own URL library does. */
  readonly url: string
  readonly accessToken?: string
  /** JSON text, as the client's own library writes it. */
  readonly body?: string
}

/** The key and time of a signature. */
export interface ClientSigning {
  readonly privateKey: KeyObject
  readonly keyId: string
  readonly createdSeconds: number
  /** A component to leave uncovered. No release does this, so it must be refused. */
  readonly omitted?: string
}

/** A request as it goes over the wire, of HTTP/1.1. */
export interface WireRequest {
  readonly method: string
  readonly target: string
  /** Names and values in the client's order and case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** The client, wallet address and amount of a grant request. */
export interface PaymentGrantParts {
  readonly client: string
  readonly walletAddress: string
  readonly debitValue: string
  readonly finishUri: string
  readonly nonce: string
}

/** The client and the interaction's reference of a continuation. */
export interface ContinuationParts {
  readonly client: string
  readonly reference: string
}

/** The quote that is paid, and a note of any text. */
export interface PaymentParts {
  readonly walletAddress: string
  readonly quoteId: string
  readonly note: string
}

/**
 * How a release of an official client writes its requests: the URL, the bytes of the body, which headers in which order, and
 * what it signs. Those of Go `v0.2.0`, PHP `v1.1.0` and Rust `v0.1.2` write byte for byte what the releases wrote when they were
 * run: see `wire/README.md`. That of .NET `v1.0.1` follows the sources at that tag and those of the HTTP library beneath. They
 * use none of this project's signing code, so a mistake there cannot hide here.
 */
export interface ReleasedClient {
  readonly name: string
  /** Whether its signature headers violate RFC 9421. */
  readonly isOutsideRfc: boolean
  /** Where it sends a grant request, given the advertised auth server. */
  grantUrl(authServer: string): string
  grantBody(parts: PaymentGrantParts): string
  /** Where it continues a grant, given `continue.uri` of the answer. */
  continueUrl(uri: string): string
  continueBody(parts: ContinuationParts): string
  /** Where it creates an outgoing payment, given the advertised resource server. */
  paymentUrl(resourceServer: string): string
  paymentBody(parts: PaymentParts): string
  /** Where it reads a payment, given the payment's `id`. */
  readUrl(id: string): string
  write(call: ClientCall, signing: ClientSigning): WireRequest
}

/** The bytes of a request. `Connection: close` is added where the answers are to be read until the connection ends. */
export function wireBytes({ method, target, headers, body }: WireRequest, close = false): Buffer {
  const lines = [...headers, ...(close ? [['Connection', 'close'] as const] : [])]
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${head}\r\n`, 'latin1'), body])
}

/** Clients use the URLs of answers as they are, unless they say otherwise. */
const asIs = { continueUrl: (uri: string) => uri, readUrl: (id: string) => id }

function continuationOf({ reference }: ContinuationParts): string {
  return JSON.stringify({ interact_ref: reference })
}

const AMOUNT = { assetCode: 'USD', assetScale: 2 }
const ACTIONS = ['create', 'read']

/** `open-payments-go` 0.2.0, on net/http: headers sorted, those of the transport before and after; `&`, `<` and `>` escaped. */
const go: ReleasedClient = {
  ...asIs,
  name: 'Go 0.2.0',
  isOutsideRfc: false,
  continueBody: continuationOf,
  grantUrl: (authServer) => authServer,
  grantBody: ({ client, walletAddress: identifier, debitValue: value, finishUri: uri, nonce }) =>
    goJson({
      access_token: {
        access: [
          {
            actions: ACTIONS,
            identifier,
            limits: { debitAmount: { ...AMOUNT, value } },
            type: 'outgoing-payment'
          }
        ]
      },
      client: { walletAddress: client },
      interact: { finish: { method: 'redirect', nonce, uri }, start: ['redirect'] }
    }),
  paymentUrl: (resourceServer) => `${resourceServer}/outgoing-payments`,
  paymentBody: ({ walletAddress, quoteId, note }) => goJson({ metadata: { note }, quoteId, walletAddress }),
  write({ method, url, accessToken, body }, signing) {
    const values = coveredValues(method, withSlash(url), accessToken, body)
    const components = without(signing.omitted, [
      ...['@method', '@target-uri'],
      ...(accessToken === undefined ? [] : ['authorization']),
      ...(body === undefined ? [] : ['content-digest', 'content-length', 'content-type'])
    ])
    const input = `(${quoted(components)});created=${String(signing.createdSeconds)};keyid="${signing.keyId}";alg="ed25519"`
    const { host, target } = splitUrl(url)
    return {
      method,
      target,
      headers: present([
        ['Host', host],
        ['User-Agent', 'Go-http-client/1.1'],
        ['Content-Length', values['content-length'] ?? (method === 'POST' ? '0' : undefined)],
        ['Authorization', values.authorization],
        ['Content-Digest', values['content-digest']],
        ['Content-Type', values['content-type']],
        ['Signature', `sig1=:${signBase(components, values, input, signing)}:`],
        ['Signature-Input', `sig1=${input}`],
        ['Accept-Encoding', 'gzip']
      ]),
      body: Buffer.from(body ?? '')
    }
  }
}

/**
 * `OpenPayments.Sdk` 1.0.1 for .NET, on HttpClient: the headers of the request, then those of its content. It adds a slash to the
 * grant endpoint and to the URL of what it reads. A rotation has empty content, with a type of its own, that is not covered.
 */
const dotNet: ReleasedClient = {
  ...asIs,
  name: '.NET 1.0.1',
  isOutsideRfc: false,
  grantUrl: withFinalSlash,
  continueBody: continuationOf,
  readUrl: withFinalSlash,
  grantBody: ({ client, walletAddress: identifier, debitValue: value, finishUri: uri, nonce }) =>
    JSON.stringify({
      access_token: {
        access: [
          {
            identifier,
            limits: { debitAmount: { value, ...AMOUNT } },
            type: 'outgoing-payment',
            actions: ACTIONS
          }
        ]
      },
      interact: { start: ['redirect'], finish: { method: 'redirect', uri, nonce } },
      client
    }),
  paymentUrl: (resourceServer) => `${withFinalSlash(resourceServer)}outgoing-payments`,
  paymentBody: ({ walletAddress, quoteId, note }) =>
    JSON.stringify({ quoteId, walletAddress, metadata: { note } }),
  write({ method, url, accessToken, body }, signing) {
    const values = coveredValues(method, url, accessToken, body)
    const components = without(signing.omitted, [
      ...['@method', '@target-uri'],
      ...(accessToken === undefined ? [] : ['authorization']),
      ...(body === undefined ? [] : ['content-digest', 'content-length', 'content-type'])
    ])
    const input = `(${quoted(components)});created=${String(signing.createdSeconds)};keyid="${signing.keyId}";alg="ed25519"`
    const { host, target } = splitUrl(url)
    const isRotation = method === 'POST' && body === undefined
    const accept = ['Accept', method === 'DELETE' ? undefined : 'application/json'] as const
    const authorization = ['Authorization', values.authorization] as const
    return {
      method,
      target,
      headers: present([
        ['Host', host],
        ...(isRotation ? [authorization, accept] : [accept, authorization]),
        ['Signature', `sig1=:${signBase(components, values, input, signing)}:`],
        ['Signature-Input', `sig1=${input}`],
        ['Content-Type', isRotation ? 'application/json; charset=utf-8' : values['content-type']],
        ['Content-Digest', values['content-digest']],
        ['Content-Length', isRotation ? '0' : values['content-length']]
      ]),
      body: Buffer.from(body ?? '')
    }
  }
}

/**
 * `interledger/open-payments-php` 1.1.0, on Guzzle and libcurl: non-ASCII is escaped, a slash is added to the grant endpoint and
 * to the URL of a continuation, whose body names the client, `Host` has no port, `keyid` comes before `created`, and the
 * signature has no colons, which RFC 9421 asks for. A request without a body has a digest of nothing, which is not covered.
 */
const php: ReleasedClient = {
  ...asIs,
  name: 'PHP 1.1.0',
  isOutsideRfc: true,
  grantUrl: withFinalSlash,
  continueUrl: withFinalSlash,
  continueBody: ({ client, reference }) => phpJson({ interact_ref: reference, client }),
  grantBody: ({ client, walletAddress: identifier, debitValue: value, finishUri: uri, nonce }) =>
    phpJson({
      access_token: {
        access: [
          {
            type: 'outgoing-payment',
            actions: ACTIONS,
            identifier,
            limits: { debitAmount: { value, ...AMOUNT } }
          }
        ]
      },
      interact: { start: ['redirect'], finish: { method: 'redirect', uri, nonce } },
      client
    }),
  paymentUrl: (resourceServer) => `${resourceServer}/outgoing-payments`,
  paymentBody: ({ walletAddress, quoteId, note }) => phpJson({ walletAddress, quoteId, metadata: { note } }),
  write({ method, url, accessToken, body }, signing) {
    const values = coveredValues(method, url, accessToken, body)
    const components = without(signing.omitted, [
      ...['@method', '@target-uri'],
      ...(accessToken === undefined ? [] : ['authorization']),
      ...(body === undefined ? [] : ['content-digest', 'content-length', 'content-type'])
    ])
    const input = `(${quoted(components)});keyid="${signing.keyId}";created=${String(signing.createdSeconds)}`
    const { target } = splitUrl(url)
    return {
      method,
      target,
      headers: present([
        ['Host', new URL(url).hostname],
        ['User-Agent', 'OP-PHP-SDK-Client'],
        ['Accept', 'application/json'],
        ['Content-Type', 'application/json'],
        ['Content-Length', body === undefined ? '0' : undefined],
        ['Authorization', values.authorization],
        ['Content-Digest', digestOf(body ?? '')],
        ['Signature', `sig1=${signBase(components, values, input, signing)}`],
        ['Signature-Input', `sig1=${input}`],
        ['Content-Length', values['content-length']]
      ]),
      body: Buffer.from(body ?? '')
    }
  }
}

/**
 * `open-payments` 0.1.2 for Rust, on reqwest: names in lower case, `content-type` on every request and covered before the
 * others, the components without quotes in the header and in the last line of what is signed, and the signature bare.
 */
const rust: ReleasedClient = {
  ...asIs,
  name: 'Rust 0.1.2',
  isOutsideRfc: true,
  continueBody: continuationOf,
  grantUrl: (authServer) => new URL(authServer).href,
  grantBody: ({ client, walletAddress: identifier, debitValue: value, finishUri: uri, nonce }) =>
    JSON.stringify({
      access_token: {
        access: [
          {
            type: 'outgoing-payment',
            actions: ACTIONS,
            identifier,
            limits: { debitAmount: { value, ...AMOUNT } }
          }
        ]
      },
      client,
      interact: { start: ['redirect'], finish: { method: 'redirect', uri, nonce } }
    }),
  paymentUrl: (resourceServer) => `${withFinalSlash(resourceServer)}outgoing-payments`,
  paymentBody: ({ walletAddress, quoteId, note }) =>
    JSON.stringify({ walletAddress, quoteId, metadata: { note } }),
  write({ method, url, accessToken, body }, signing) {
    const values = {
      ...coveredValues(method, url, accessToken, body),
      'content-type': 'application/json'
    }
    const components = without(signing.omitted, [
      ...['@method', '@target-uri', 'content-type'],
      ...(accessToken === undefined ? [] : ['authorization']),
      ...(body === undefined ? [] : ['content-digest', 'content-length'])
    ])
    const input = `(${components.join(' ')});created=${String(signing.createdSeconds)};keyid="${signing.keyId}"`
    const { host, target } = splitUrl(url)
    return {
      method,
      target,
      headers: present([
        ['content-type', 'application/json'],
        ['authorization', values.authorization],
        ['content-length', values['content-length']],
        ['content-digest', values['content-digest']],
        ['signature', signBase(components, values, input, signing)],
        ['signature-input', `sig1=${input}`],
        ['accept', '*/*'],
        ['host', host]
      ]),
      body: Buffer.from(body ?? '')
    }
  }
}

/** The official clients besides JavaScript's, in the releases of 2026. */
export const RELEASED_CLIENTS: readonly ReleasedClient[] = [go, dotNet, php, rust]

type Values = Readonly<Record<string, string | undefined>>

/** The values that any of them covers. */
function coveredValues(method: string, url: string, accessToken?: string, body?: string) {
  return {
    '@method': method,
    '@target-uri': url,
    authorization: accessToken === undefined ? undefined : `GNAP ${accessToken}`,
    'content-digest': body === undefined ? undefined : digestOf(body),
    'content-length': body === undefined ? undefined : String(Buffer.byteLength(body)),
    'content-type': body === undefined ? undefined : 'application/json'
  }
}

/** All four quote the names in the lines of the base, whatever the last line has. */
function signBase(
  components: readonly string[],
  values: Values,
  input: string,
  signing: ClientSigning
): string {
  const lines = components.map((name) => `"${name}": ${values[name] ?? ''}`)
  const base = [...lines, `"@signature-params": ${input}`].join('\n')
  return sign(null, Buffer.from(base), signing.privateKey).toString('base64')
}

function digestOf(body: string): string {
  return `sha-512=:${createHash('sha512').update(body).digest('base64')}:`
}

function quoted(components: readonly string[]): string {
  return components.map((name) => `"${name}"`).join(' ')
}

function without(omitted: string | undefined, components: readonly string[]): string[] {
  return components.filter((name) => name !== omitted)
}

function present(headers: readonly (readonly [string, string | undefined])[]): [string, string][] {
  return headers.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

function splitUrl(url: string): { host: string; target: string } {
  const { host, pathname, search } = new URL(url)
  return { host, target: pathname + search }
}

/** What Go's client signs for a URL without a path. */
function withSlash(url: string): string {
  return /^[^:]+:\/\/[^/?]+$/.test(url) ? `${url}/` : url
}

/** With a slash at the end of the path, which there need not be. */
function withFinalSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}

function goJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escapeUnit)
}

function phpJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u0080-\uffff]/g, escapeUnit)
}

function escapeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
