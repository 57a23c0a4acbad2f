import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const HOST = '127.0.0.1'
const PATH = '/signed-in'
/** How long a request may take to arrive, in milliseconds: nothing else is waited for than its headers. */
const REQUEST_MS_MAX = 10_000

/** The page has words and nothing else, and no other page can frame it, keep it, or learn its address. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  connection: 'close'
} as const

/** What the browser came back with. */
export interface Returned {
  /** The whole URL, as the issuer made it. */
  readonly url: URL
  /** Ends the browser's request with a page that says whether somebody is signed in. */
  readonly answer: (isSignedIn: boolean) => Promise<void>
}

/** A listener on loopback that a browser is sent back to (RFC 8252 §7.3). */
export interface LoopbackRedirect {
  /** With the port that it listens on. */
  readonly redirectUri: string
  /** The first request with the right `state`. There is never a second one. */
  readonly returned: Promise<Returned>
  /** Stops listening, and ends what is under way. */
  close(): Promise<void>
}

/**
 * Listens on a free port of this machine, until it is closed. Any program of this machine, and any page in a browser on it, can send requests
 * here: whatever has another `state` than was asked for is refused and changes nothing, as is everything after the first request that has it.
 *
 * @param state what the issuer was asked to send back
 */
export async function listenForRedirect(state: string): Promise<LoopbackRedirect> {
  let tell: (returned: Returned) => void
  const returned = new Promise<Returned>((resolve) => {
    tell = resolve
  })
  let isTaken = false
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const { port } = server.address() as AddressInfo
    const authority = `${HOST}:${String(port)}`
    const url = parse(request.url, `http://${authority}`)
    // A name that leads here is somebody else's: a page could read answers by it.
    if (request.headers.host !== authority) refuse(response, 421, 'This is no page of that site.')
    else if (url?.pathname !== PATH || url.host !== authority) refuse(response, 404, 'There is no such page.')
    else if (request.method !== 'GET') refuse(response, 405, 'This page can only be read.')
    else if (!isAskedFor(url, state)) refuse(response, 400, 'Nobody asked for this sign-in.')
    else if (isTaken) refuse(response, 410, 'This sign-in was used already.')
    else {
      isTaken = true
      tell({ url, answer: (isSignedIn) => answer(response, isSignedIn) })
    }
  }
  const server = createServer({ requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX }, take)
  server.listen(0, HOST)
  await once(server, 'listening')
  return {
    redirectUri: `http://${HOST}:${String((server.address() as AddressInfo).port)}${PATH}`,
    returned,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}

/** Whoever sends a request chooses its target, which may be none. */
function parse(target: string | undefined, origin: string): URL | undefined {
  return target !== undefined && URL.canParse(target, origin) ? new URL(target, origin) : undefined
}

/** Compares in the same time, however much of it is right. */
function isAskedFor({ searchParams }: URL, state: string): boolean {
  const [given = '', ...others] = searchParams.getAll('state')
  const [one, other] = [Buffer.from(given), Buffer.from(state)]
  return others.length === 0 && one.length === other.length && timingSafeEqual(one, other)
}

/** Whoever has closed the page needs no answer. */
async function answer(response: ServerResponse, isSignedIn: boolean): Promise<void> {
  if (response.closed) return
  const ended = new Promise<void>((resolve) => response.once('close', resolve))
  if (isSignedIn) send(response, 200, 'Signed in', 'You can close this window, and go on in the terminal.')
  else send(response, 400, 'Not signed in', 'The terminal says why. You can close this window.')
  await ended
}

function refuse(response: ServerResponse, status: number, text: string): void {
  send(response, status, 'Not signed in', text)
}

function send(response: ServerResponse, status: number, title: string, text: string): void {
  response.writeHead(status, HEADERS).end(
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><p>${text}</p></body>
</html>
`
  )
}
