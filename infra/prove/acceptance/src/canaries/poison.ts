import {
  type Answer,
  holdToContract,
  type SignedRequestOptions,
  type SigningClient
} from '@open-payments-server/testing'
import type { Canaries } from './canaries.js'
import type { Outputs } from './outputs.js'

/** Ends a line, begins another, colours a terminal and ends a statement, wherever texts are concatenated carelessly. */
export const INJECTION = `\n{"level":60,"msg":"injected"}\r\n\u001b[31m\u2028'; drop table grant_request; --\${x}%s`

/** Response members that are always secret. */
const SECRET_MEMBERS = ['sharedSecret', 'finishCode']
/** Parameters of redirects that are secret. */
const SECRET_PARAMETERS = ['interact_ref', 'hash']
/** Headers that any request may have and no signature covers. */
const OTHER_HEADERS = [
  'user-agent',
  'referer',
  'x-request-id',
  'traceparent',
  'forwarded',
  'x-forwarded-for',
  'x-whatever'
]
/** Headers that decide whether a request is accepted. */
const CREDENTIAL_HEADERS = [
  'authorization',
  'signature',
  'signature-input',
  'content-digest',
  'cookie',
  'x-idp-secret',
  'idempotency-key'
]

interface SentRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/**
 * A proxy between the clients of a test and the services. It keeps all traffic, and for each kind of request that passes it
 * sends more requests, with a canary in every place.
 */
export class Poison {
  readonly #canaries: Canaries
  readonly #outputs: Outputs
  readonly #poisoned = new Set<string>()
  readonly #fetch = globalThis.fetch

  constructor(canaries: Canaries, outputs: Outputs) {
    this.#canaries = canaries
    this.#outputs = outputs
  }

  /** Runs the proxy during an action. Later answers are kept, too. */
  async during(action: () => Promise<void>): Promise<void> {
    this.#install()
    try {
      await action()
    } finally {
      globalThis.fetch = this.#fetch
    }
  }

  #install(): void {
    globalThis.fetch = async (input, init) => {
      const body = init?.body
      const request: SentRequest = {
        method: init?.method ?? 'GET',
        url: input instanceof Request ? input.url : input.toString(),
        headers: { ...(init?.headers as Record<string, string> | undefined) },
        body: body instanceof Uint8Array ? Buffer.from(body).toString() : undefined
      }
      const operation = operationOf(request)
      this.#watchRequest(request)
      const others = Object.fromEntries(
        OTHER_HEADERS.map((name) => [name, this.#canaries.mint(`${operation} header ${name}`)])
      )
      const response = await this.#fetch(input, { ...init, headers: { ...others, ...request.headers } })
      this.#keepAnswer(operation, response, await response.clone().text())
      if (!this.#poisoned.has(operation)) {
        this.#poisoned.add(operation)
        for (const poisoned of this.#poisonedRequests(operation, request))
          await this.#send(operation, poisoned)
      }
      return response
    }
  }

  /** A client that repeats each kind of request, correctly signed, with a canary in every field. */
  client<Client extends SigningClient>(client: Client): Client {
    const poisoned = new Set<string>()
    return {
      ...client,
      request: async (method: string, url: string, options: SignedRequestOptions = {}): Promise<Answer> => {
        const answer = await client.request(method, url, options)
        const operation = operationOf({ method, url })
        // A body with other members makes another kind of request.
        const kind = [operation, ...leavesOf(options.body)].join(' ')
        if (!poisoned.has(kind)) {
          poisoned.add(kind)
          for (const more of this.#signedRequests(operation, options)) await client.request(method, url, more)
        }
        return answer
      }
    }
  }

  #signedRequests(operation: string, options: SignedRequestOptions): SignedRequestOptions[] {
    const mint = (what: string): string => this.#canaries.mint(`${operation} ${what}`)
    const accessToken = options.accessToken === undefined ? {} : { accessToken: mint('access token') }
    const unlike: SignedRequestOptions[] = [
      { ...options, ...accessToken },
      { ...options, signature: { nonce: mint('signature nonce') } },
      { ...options, signature: { keyId: mint('signature keyid') } },
      { ...options, headers: { 'idempotency-key': mint('idempotency key') } }
    ]
    const { body } = options
    if (typeof body !== 'object' || body === null) return unlike
    const leaves = leavesOf(body).flatMap((path) => {
      const name = `body ${path.join('.')}`
      return [
        `${mint(name)}${INJECTION}`,
        `http://user:${mint(`${name}, userinfo`)}@127.0.0.1:1/${mint(name)}?token=${mint(`${name}, query`)}`
      ].map((value) => ({ ...options, body: replaceAt(body, path, value) }))
    })
    return [
      ...unlike,
      ...leaves,
      { ...options, body: { ...body, [mint('member')]: mint('unknown member') } },
      { ...options, body: `{"${mint('malformed body')}` },
      {
        ...options,
        body: mint('text body'),
        headers: { 'content-type': `text/${mint('content type')}` }
      }
    ]
  }

  #poisonedRequests(operation: string, request: SentRequest): SentRequest[] {
    const mint = (what: string): string => this.#canaries.mint(`${operation} ${what}`)
    const { method, headers, body } = request
    const bytes = (what: string): string => Buffer.from(mint(what).padEnd(64, '.')).toString('base64')
    const credentials: Record<string, string> = {
      authorization: `GNAP ${mint('access token')}`,
      signature: `sig1=:${bytes('signature')}:`,
      'signature-input': `sig1=("@method" "@target-uri");created=1;keyid="${mint('keyid')}";nonce="${mint('nonce')}"`,
      'content-digest': `sha-512=:${bytes('content digest')}:`,
      cookie: `interaction=${mint('cookie')}; session=${mint('cookie of another')}`,
      'x-idp-secret': mint('wrong identity provider secret'),
      'idempotency-key': mint('idempotency key')
    }
    const malformed = Object.fromEntries(
      CREDENTIAL_HEADERS.map((name) => [name, `${mint(`malformed ${name}`)}, "\\ ;=;:`])
    )
    const inQuery = new URL(request.url)
    for (const name of ['access_token', 'code', 'nonce', mint('parameter name')]) {
      inQuery.searchParams.append(name, `${mint(`parameter ${name}`)}${INJECTION}`)
    }
    const inPath = new URL(request.url)
    inPath.pathname = inPath.pathname
      .split('/')
      .map((segment) => (segment.length < WORD_LENGTH_MAX ? segment : mint('path segment')))
      .join('/')
    const text = method === 'GET' || method === 'HEAD' ? undefined : mint('body')
    const token = /^GNAP (.*)$/.exec(headers.authorization ?? '')?.[1]
    return [
      { ...request, headers: credentials, body: text },
      { ...request, headers: malformed, body: text },
      { ...request, url: inQuery.href },
      { ...request, url: inPath.href },
      { ...request, url: `${inPath.origin}/${mint('path')}/${encodeURIComponent(mint('path') + INJECTION)}` },
      ...(token === undefined
        ? []
        : [
            { ...request, headers: { ...headers, authorization: `Bearer ${token}` } },
            { ...request, headers: { ...headers, authorization: `GNAP  ${token} ${mint('second token')}` } }
          ]),
      // The body differs from the signed one.
      ...(body === undefined ? [] : [{ ...request, body: `${body} ` }])
    ]
  }

  async #send(operation: string, { method, url, headers, body }: SentRequest): Promise<void> {
    const sent = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'content-length'))
    const response = await this.#fetch(url, {
      method,
      headers: sent,
      redirect: 'manual',
      ...(body === undefined ? {} : { body })
    })
    const text = await response.text()
    this.#keepAnswer(operation, response, text)
    const header = (name: string): string | null => response.headers.get(name)
    await holdToContract({ method, url, accept: undefined, status: response.status, header, text })
  }

  #watchRequest({ headers }: SentRequest): void {
    const { authorization, signature, cookie } = headers
    this.#canaries.watch('token that was presented', /^\S+\s+(\S+)$/.exec(authorization ?? '')?.[1])
    this.#canaries.watch('signature', /:(.+):/.exec(signature ?? '')?.[1])
    this.#canaries.watch('cookie', /=(.+)$/.exec(cookie ?? '')?.[1])
    this.#canaries.watch('secret of the identity provider', headers['x-idp-secret'])
  }

  #keepAnswer(operation: string, { status, headers }: Response, text: string): void {
    this.#outputs.add(`answer body of ${operation} ${String(status)}`, text)
    for (const [name, value] of headers) {
      this.#outputs.add(`answer header ${name} of ${operation} ${String(status)}`, value)
    }
    for (const cookie of headers.getSetCookie()) {
      this.#canaries.watch('cookie', /^[^=]+=([^;]+)/.exec(cookie)?.[1])
    }
    const location = headers.get('location')
    if (location !== null) {
      for (const name of SECRET_PARAMETERS) {
        this.#canaries.watch(name, new URL(location, 'http://localhost').searchParams.get(name))
      }
    }
    if (headers.get('content-type')?.startsWith('application/json') === true)
      this.#watchBody(JSON.parse(text))
  }

  #watchBody(body: unknown): void {
    if (typeof body !== 'object' || body === null) return
    for (const [name, member] of Object.entries(body)) {
      if (SECRET_MEMBERS.includes(name)) this.#canaries.watch(name, String(member))
      if (name === 'finish') this.#canaries.watch('nonce of an interaction', String(member))
      if (name === 'access_token') this.#canaries.watch('token that was issued', valueOf(member))
      this.#watchBody(member)
    }
  }
}

/** Maximum length of a path segment that is a word and not an identifier. */
const WORD_LENGTH_MAX = 24

/** The method, and the path without identifiers: `POST /continue/{}`. */
function operationOf({ method, url }: Pick<SentRequest, 'method' | 'url'>): string {
  const segments = new URL(url).pathname
    .split('/')
    .map((segment) => (segment.length < WORD_LENGTH_MAX ? segment : '{}'))
  return `${method} ${segments.join('/')}`
}

function valueOf(token: unknown): string | undefined {
  const { value } = { value: undefined, ...(token as { value?: unknown } | null) }
  return typeof value === 'string' ? value : undefined
}

/** The paths of all values in a body that are neither objects nor lists. */
function leavesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]))
}

function replaceAt(value: unknown, [name, ...rest]: readonly string[], replacement: string): unknown {
  if (name === undefined) return replacement
  const changed = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  const members = changed as Record<string, unknown>
  members[name] = replaceAt(members[name], rest, replacement)
  return changed
}
