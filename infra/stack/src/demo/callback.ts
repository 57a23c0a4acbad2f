import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const LOOPBACK = '127.0.0.1'
const PATH = '/callback'

/** The callback of the client after the account holder's decision. */
export type Outcome =
  | { readonly kind: 'accepted'; readonly hash: string; readonly interactRef: string }
  | { readonly kind: 'ended'; readonly result: string }

/** Where the browser comes back to. */
export interface Callback {
  /** The `finish.uri` of the grant request. */
  readonly uri: string
  /** Resolves with the first outcome that arrives. */
  readonly outcome: Promise<Outcome>
  stop(): void
}

/** Listens for the browser that comes back. */
export async function startCallback(): Promise<Callback> {
  let resolveOutcome: (outcome: Outcome) => void = () => undefined
  const outcome = new Promise<Outcome>((resolve) => {
    resolveOutcome = resolve
  })
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const received = pathname === PATH ? readOutcome(searchParams) : undefined
    if (received !== undefined) resolveOutcome(received)
    response.writeHead(received === undefined ? 404 : 200, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(
      received === undefined
        ? 'Not found'
        : 'The shop knows. Go back to the terminal: you can close this page.'
    )
  })
  server.listen(0, LOOPBACK)
  await once(server, 'listening')
  return {
    uri: `http://localhost:${String((server.address() as AddressInfo).port)}${PATH}`,
    outcome,
    stop: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}

function readOutcome(parameters: URLSearchParams): Outcome | undefined {
  const [hash, interactRef, result] = ['hash', 'interact_ref', 'result'].map((name) => parameters.get(name))
  if (hash && interactRef) return { kind: 'accepted', hash, interactRef }
  return result ? { kind: 'ended', result } : undefined
}

/**
 * Whether the hash shows that the browser comes from this very interaction (RFC 9635 §4.2.3). Open Payments encodes it in
 * padded base64.
 */
export function isFinishHash(
  hash: string,
  parts: { clientNonce: string; serverNonce: string; interactRef: string; grantEndpoint: string }
): boolean {
  const text = [parts.clientNonce, parts.serverNonce, parts.interactRef, parts.grantEndpoint].join('\n')
  const expected = createHash('sha256').update(text).digest()
  const given = Buffer.from(hash, 'base64')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
