import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

/** What is in front of several installations, as an ingress is: it sends requests on by their paths. */
export class Front {
  readonly #server: Server
  /** Origins by the path of what is there, or below it. */
  readonly #routes = new Map<string, string>()

  private constructor() {
    this.#server = createServer((incoming, outgoing) => {
      const { method, url = '/', headers } = incoming
      const origin = this.#originOf(url)
      if (origin === undefined) {
        outgoing.writeHead(502).end()
        return
      }
      const onward = request(new URL(url, origin), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        pipeline(answer, outgoing, () => undefined) // Either side sees when the other one hangs up.
      })
      onward.on('error', () => outgoing.destroy())
      incoming.pipe(onward)
    })
  }

  /** Starts it on a free port of localhost. */
  static async start(): Promise<Front> {
    const front = new Front()
    await new Promise<void>((resolve) => front.#server.listen(0, 'localhost', resolve))
    return front
  }

  /** Its URL, without a slash at the end. */
  get url(): string {
    return `http://localhost:${String((this.#server.address() as AddressInfo).port)}`
  }

  /** Sends what is at a path, and below it, to an origin from now on. The longest path decides; `/` is for all others. */
  route(path: string, origin: string): void {
    this.#routes.set(path, origin)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #originOf(url: string): string | undefined {
    const { pathname } = new URL(url, this.url)
    const matching = [...this.#routes.keys()].filter((path) =>
      `${pathname}/`.startsWith(path.endsWith('/') ? path : `${path}/`)
    )
    const longest = matching.reduce((best, path) => (path.length > best.length ? path : best), '')
    return this.#routes.get(longest)
  }
}
