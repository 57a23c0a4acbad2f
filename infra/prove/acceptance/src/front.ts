import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import type { TestCertificate } from '@open-payments-server/testing/certificates'

/** What is in front of installations, as an ingress is: it sends requests on by their paths, and may end TLS. */
export class Front {
  readonly #server: Server | TlsServer
  /** Origins by the path of what is there, or below it. */
  readonly #routes = new Map<string, string>()

  private constructor(certificate: TestCertificate | undefined) {
    const sendOn = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      this.#sendOn(incoming, outgoing)
    }
    this.#server =
      certificate === undefined ? createServer(sendOn) : createTlsServer(tlsOf(certificate), sendOn)
  }

  /**
   * Starts it on a free port of localhost.
   *
   * @param certificate that it shows; without one it speaks plain text
   */
  static async start(certificate?: TestCertificate): Promise<Front> {
    const front = new Front(certificate)
    await new Promise<void>((resolve) => front.#server.listen(0, 'localhost', resolve))
    return front
  }

  /** Its URL, without a slash at the end. */
  get url(): string {
    const scheme = this.#server instanceof TlsServer ? 'https' : 'http'
    return `${scheme}://localhost:${String((this.#server.address() as AddressInfo).port)}`
  }

  /** Shows another certificate from now on, and closes all connections. Only of one that ends TLS. */
  show(certificate: TestCertificate): void {
    if (!(this.#server instanceof TlsServer)) throw new Error('it speaks plain text')
    this.#server.setSecureContext(tlsOf(certificate))
    this.#server.closeAllConnections()
  }

  /** Sends what is at a path, and below it, to an origin from now on. The longest path decides; `/` is for all others. */
  route(path: string, origin: string): void {
    this.#routes.set(path, origin)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #sendOn(incoming: IncomingMessage, outgoing: ServerResponse): void {
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

function tlsOf({ certificate, key }: TestCertificate): { cert: string; key: string } {
  return { cert: certificate, key }
}
