import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse
} from 'node:http'

/** Address of a replica. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

interface Route extends Endpoint {
  readonly agent: Agent
}

/**
 * Like an ingress of Kubernetes: passes each request to one of the ready replicas in turn, over persistent connections. It never
 * retries, because it cannot know the result of a failed request.
 */
export class Balancer {
  /** Failures, one sentence each. Those who sent a request judge answers that tell when to come again, and that there is none. */
  readonly failures: string[] = []
  /** Number of forwarded requests. */
  requestCount = 0
  readonly #server: Server
  readonly #clientAddress: string
  #routes: readonly Route[] = []

  private constructor(clientAddress: string) {
    this.#clientAddress = clientAddress
    this.#server = createServer((incoming, outgoing) => {
      this.#handOn(incoming, outgoing)
    })
    // It never closes its clients' connections first: the test is about those to the replicas.
    this.#server.keepAliveTimeout = 600_000
  }

  /** @param clientAddress the client address that it reports for all requests */
  static async start(host: string, port: number, clientAddress: string): Promise<Balancer> {
    const balancer = new Balancer(clientAddress)
    await new Promise<void>((resolve, reject) => {
      balancer.#server.once('error', reject)
      balancer.#server.listen(port, host, resolve)
    })
    return balancer
  }

  /** From now on requests go to these replicas only. */
  announce(endpoints: readonly Endpoint[]): void {
    this.#routes = endpoints.map(
      (endpoint) =>
        this.#routes.find(({ host, port }) => host === endpoint.host && port === endpoint.port) ?? {
          ...endpoint,
          agent: new Agent({ keepAlive: true })
        }
    )
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    for (const { agent } of this.#routes) agent.destroy()
  }

  #handOn(incoming: IncomingMessage, outgoing: ServerResponse): void {
    this.requestCount += 1
    const route = this.#routes[this.requestCount % this.#routes.length]
    const what = `${String(incoming.method)} ${String(incoming.url)}`
    if (route === undefined) {
      this.#fail(outgoing, `${what}: no replica is ready`)
      return
    }
    const { host, port, agent } = route
    const headers = { ...ofMessage(incoming), 'x-forwarded-for': this.#clientAddress }
    const onward = request({ host, port, agent, method: incoming.method, path: incoming.url, headers })
    onward.once('response', (answer) => {
      const { statusCode = 502 } = answer
      const saysWhen = statusCode === 503 && answer.headers['retry-after'] !== undefined
      if (statusCode >= 500 && !saysWhen) this.failures.push(`${what}: answered ${String(statusCode)}`)
      outgoing.writeHead(statusCode, ofMessage(answer))
      answer.pipe(outgoing)
      answer.once('error', (error) => {
        this.failures.push(`${what}: ${error.message} within the answer`)
        outgoing.destroy()
      })
    })
    onward.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') outgoing.destroy()
      else this.#fail(outgoing, `${what} to ${host}: ${error.message}`)
    })
    incoming.pipe(onward)
  }

  #fail(outgoing: ServerResponse, failure: string): void {
    this.failures.push(failure)
    if (!outgoing.headersSent) outgoing.writeHead(502)
    outgoing.end()
  }
}

/** The end-to-end headers: those of the connection are left out. */
function ofMessage({ headers }: IncomingMessage): IncomingHttpHeaders {
  const ofConnection = ['connection', 'keep-alive']
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name)))
}
