import { once } from 'node:events'
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * What happens to a request: a status with an empty object, an end of the connection without an answer, nothing at all, a redirect to a URL,
 * or only after some milliseconds what happens to the others.
 */
export type Fault = number | 'cut' | 'silent' | { readonly location: string } | { readonly afterMs: number }

/** A server in front of another one, which a test can make fail. */
export interface Breakable {
  readonly url: string
  /** What happens to a request, by its path and query; undefined to pass it on. */
  breaks: (path: string) => Fault | undefined
  stop(): Promise<void>
}

/**
 * Passes requests and answers on as they are.
 *
 * @param behind origin of the server behind
 * @param host name by which it is reached
 */
export async function startBreakable(behind: string, host = '127.0.0.1'): Promise<Breakable> {
  const server = createServer((request, response) => {
    const fault = breakable.breaks(request.url ?? '/')
    if (typeof fault === 'number') {
      request.resume()
      response.writeHead(fault, { 'content-type': 'application/json' }).end('{}')
    } else if (fault === 'cut') response.destroy()
    else if (fault === 'silent') request.resume()
    else if (fault !== undefined && 'location' in fault) response.writeHead(303, fault).end()
    else if (fault === undefined) passOn(behind, request, response)
    else setTimeout(passOn, fault.afterMs, behind, request, response)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const breakable: Breakable = {
    url: `http://${host}:${String((server.address() as AddressInfo).port)}`,
    breaks: () => undefined,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
  return breakable
}

function passOn(behind: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request
  const onward = ask(`${behind}${request.url ?? '/'}`, { method, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  request.pipe(onward)
}
