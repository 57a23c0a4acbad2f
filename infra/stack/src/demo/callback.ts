import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const LOOPBACK = '127.0.0.1'
const PATH = '/callback'

/** How the interaction finished, as the callback says (RFC 9635 §4.2). */
export type Finish =
  | { readonly kind: 'accepted'; readonly hash: string; readonly interactRef: string }
  | { readonly kind: 'ended'; readonly result: string }

/** Where the browser comes back to. */
export interface Callback {
  /** The `finish.uri` of the grant request. */
  readonly uri: string
  /** Resolves with the first one that arrives. */
  readonly finish: Promise<Finish>
  stop(): void
}

/** Listens for the browser that comes back. */
export async function startCallback(): Promise<Callback> {
  let resolveFinish: (finish: Finish) => void = () => undefined
  const finish = new Promise<Finish>((resolve) => {
    resolveFinish = resolve
  })
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const received = pathname === PATH ? readFinish(searchParams) : undefined
    if (received !== undefined) resolveFinish(received)
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
    finish,
    stop: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}

function readFinish(parameters: URLSearchParams): Finish | undefined {
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
