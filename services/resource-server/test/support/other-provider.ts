import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  DEFAULT_POLICY,
  type Ed25519Jwk,
  importEd25519Jwk,
  receiveSignature,
  verifySignature
} from '@open-payments-server/http-signatures'
import type { Clock } from '@open-payments-server/value-types/clock'

/** The parts of another provider that can be asked. */
export type Part = 'public' | 'payment' | 'grant' | 'rotation'

/** A request that arrived. */
export interface Arrived {
  readonly part: Part | undefined
  readonly method: string
  /** Token of its `Authorization: GNAP`. */
  readonly token: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** An answer in JSON, or whatever else is done with a request. */
export type Answer =
  { readonly status?: number; readonly body: unknown } | ((response: ServerResponse) => unknown)

/** Another provider: a resource server with one incoming payment, and an auth server at another origin. */
export interface OtherProvider {
  /** URL of its incoming payment. */
  readonly url: string
  /** URL of its auth server. */
  readonly authServer: string
  /** Everything that arrived, in order. */
  readonly arrived: Arrived[]
  /** Number of requests for a part. */
  count(part: Part): number
  /** The incoming payment as it shows it to payers; may be changed. */
  payment: Record<string, unknown>
  /** Adds another incoming payment, which is shown like that one except for what is given. Answers its URL. */
  add(id: string, payment: Record<string, unknown>): string
  /** How long its tokens last; undefined: it does not say. */
  tokenSeconds: number | undefined
  /** Accepts no token issued before. */
  revokeTokens(): void
  /** Replaces the answers of a part: these one after the other, the last one from then on. */
  answer(part: Part, ...answers: Answer[]): void
  stop(): Promise<void>
}

const GNAP = /^GNAP (.+)$/

/**
 * Starts another provider on the loopback. It refuses what is not signed by the client, or with a token that it did not issue.
 *
 * @param jwk public key of the client
 */
export async function startOtherProvider(jwk: Ed25519Jwk, clock: Clock): Promise<OtherProvider> {
  const publicKey = await importEd25519Jwk(jwk)
  const answers = new Map<Part, Answer[]>()
  const valid = new Set<string>()
  /** Further payments, by path. */
  const others = new Map<string, Record<string, unknown>>()
  let tokenCount = 0

  const isSigned = (request: IncomingMessage, url: string, body: Buffer): boolean => {
    const parts = { method: request.method ?? '', targetUri: url, headers: request.headers, body }
    try {
      const policy = { ...DEFAULT_POLICY, releasedClientForms: false }
      verifySignature(receiveSignature(parts, policy, clock.now()), { kid: jwk.kid, publicKey })
      return true
    } catch {
      return false
    }
  }

  const issue = (): Answer => {
    tokenCount += 1
    const value = `token-${String(tokenCount)}`
    valid.add(value)
    return {
      body: {
        access_token: {
          value,
          manage: `${authServer}token/${value}`,
          ...(provider.tokenSeconds === undefined ? {} : { expires_in: provider.tokenSeconds }),
          access: [{ type: 'incoming-payment', actions: ['read-all'] }]
        },
        continue: { access_token: { value: 'continuation' }, uri: `${authServer}continue/1` }
      }
    }
  }

  const handle = async (
    request: IncomingMessage,
    response: ServerResponse,
    origin: string
  ): Promise<void> => {
    const body = Buffer.concat((await request.toArray()) as Buffer[])
    const { method = '', url: path = '', headers } = request
    const token = GNAP.exec(headers.authorization ?? '')?.[1]
    const part = partOf(method, path, headers.signature !== undefined)
    provider.arrived.push({ part, method, token, headers, body: body.toString() })
    const told = part === undefined ? undefined : answers.get(part)
    const replaced = told !== undefined && told.length > 1 ? told.shift() : told?.[0]
    const answer = replaced ?? usual(path, part, isSigned(request, `${origin}${path}`, body), token)
    if (typeof answer === 'function') {
      answer(response)
      return
    }
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer.body))
  }

  const usual = (
    path: string,
    part: Part | undefined,
    signed: boolean,
    token: string | undefined
  ): Answer => {
    const payment = others.get(path) ?? provider.payment
    const { receivedAmount } = payment
    if (part === 'public') return { body: { receivedAmount, authServer } }
    if (part === undefined) return { status: 404, body: {} }
    if (!signed) return { status: 401, body: {} }
    if (part === 'grant') return issue()
    if (token === undefined || !valid.has(token)) return { status: 401, body: {} }
    if (part === 'payment') return { body: payment }
    valid.delete(token)
    return issue()
  }

  const [resource, auth] = await Promise.all([listen(handle), listen(handle)])
  const url = `${resource.origin}/incoming-payments/2f1b0150-db73-49e8-8713-628baa4a17ff`
  const authServer = `${auth.origin}/`
  const provider: OtherProvider = {
    url,
    authServer,
    arrived: [],
    count: (part) => provider.arrived.filter((each) => each.part === part).length,
    payment: {
      id: url,
      walletAddress: 'https://wallet.example/bob',
      completed: false,
      incomingAmount: { value: '2500', assetCode: 'USD', assetScale: 2 },
      receivedAmount: { value: '1234', assetCode: 'USD', assetScale: 2 },
      expiresAt: '2099-04-12T23:20:50.520Z',
      createdAt: '2022-03-12T23:20:50.520Z',
      metadata: { description: 'Thanks for the flowers!' },
      methods: [
        { type: 'another', address: 1 },
        {
          type: 'ilp',
          ilpAddress: 'test.other.98y08y',
          sharedSecret: Buffer.alloc(32, 7).toString('base64url')
        }
      ]
    },
    add(id, payment) {
      const { origin } = new URL(url)
      const path = `/incoming-payments/${id}`
      others.set(path, { ...provider.payment, id: `${origin}${path}`, ...payment })
      return `${origin}${path}`
    },
    tokenSeconds: 600,
    revokeTokens() {
      valid.clear()
    },
    answer(part, ...replacements) {
      answers.set(part, replacements)
    },
    async stop() {
      await Promise.all([resource.stop(), auth.stop()])
    }
  }
  return provider
}

function partOf(method: string, path: string, isSigned: boolean): Part | undefined {
  if (method === 'POST') return path === '/' ? 'grant' : 'rotation'
  if (method !== 'GET' || !path.startsWith('/incoming-payments/')) return undefined
  return isSigned ? 'payment' : 'public'
}

async function listen(
  handle: (request: IncomingMessage, response: ServerResponse, origin: string) => Promise<void>
): Promise<{ origin: string; stop: () => Promise<void> }> {
  const server: Server = createServer((request, response) => void handle(request, response, origin))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  return {
    origin,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      })
  }
}
