import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server in front of another one, which a test can make fail. */
export interface Breakable {
  readonly url: string
  /** Given a path, the status that is answered with an empty object; undefined to pass the request on. */
  breaks: (path: string) => number | undefined
  stop(): Promise<void>
}

/**
 * Passes requests on, with their bodies and the headers that the API behind reads.
 *
 * @param behind origin of the server behind
 */
export async function startBreakable(behind: string): Promise<Breakable> {
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '/'
      const body = await readBody(request)
      const status = breakable.breaks(path)
      const answer =
        status === undefined ? await passOn(`${behind}${path}`, request, body) : { status, text: '{}' }
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text)
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const breakable: Breakable = {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    breaks: () => undefined,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
  return breakable
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function passOn(
  url: string,
  { method = 'GET', headers }: IncomingMessage,
  body: Buffer
): Promise<{ status: number; text: string }> {
  const sent = Object.fromEntries(
    ['x-idp-secret', 'content-type'].flatMap((name) => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    })
  )
  const answer = await fetch(url, {
    method,
    headers: sent,
    ...(method === 'POST' ? { body: new Uint8Array(body) } : {})
  })
  return { status: answer.status, text: await answer.text() }
}
