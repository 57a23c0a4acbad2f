import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Endpoint } from './balancer.js'

/** Like a Kubernetes Service with a cluster IP: passes each connection to one of the ready replicas in turn. */
export class TcpBalancer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #endpoints: readonly Endpoint[] = []
  #connectionCount = 0

  private constructor() {
    this.#server = createServer((incoming) => {
      this.#handOn(incoming)
    })
  }

  static async start(host: string, port: number): Promise<TcpBalancer> {
    const balancer = new TcpBalancer()
    await new Promise<void>((resolve, reject) => {
      balancer.#server.once('error', reject)
      balancer.#server.listen(port, host, resolve)
    })
    return balancer
  }

  /** From now on new connections lead to these replicas. Existing ones stay. */
  announce(endpoints: readonly Endpoint[]): void {
    this.#endpoints = endpoints
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #handOn(incoming: Socket): void {
    this.#connectionCount += 1
    const endpoint = this.#endpoints[this.#connectionCount % this.#endpoints.length]
    if (endpoint === undefined) {
      incoming.destroy()
      return
    }
    const outgoing = connect(endpoint.port, endpoint.host)
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming]
    ] as const) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      // The end of one side is passed on to the other.
      socket.on('error', () => other.destroy())
      socket.once('close', () => {
        this.#sockets.delete(socket)
        other.end()
      })
      socket.pipe(other)
    }
  }
}
