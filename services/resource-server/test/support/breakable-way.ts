import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A way to a database that can break: a proxy over TCP. */
export class BreakableWay {
  readonly #target: URL
  #server: Server | undefined
  #port = 0
  readonly #sockets = new Set<Socket>()

  private constructor(target: URL) {
    this.#target = target
  }

  /** @param url `postgresql://…`, reached without TLS */
  static async open(url: string): Promise<BreakableWay> {
    const way = new BreakableWay(new URL(url))
    await way.mend()
    return way
  }

  /** Where the database is found by this way. */
  get url(): string {
    const url = new URL(this.#target)
    url.hostname = '127.0.0.1'
    url.port = String(this.#port)
    return url.href
  }

  /** Breaks every connection, and refuses others until it is mended. */
  break(): void {
    this.#server?.close()
    this.#server = undefined
    for (const socket of this.#sockets) socket.destroy()
  }

  async mend(): Promise<void> {
    const server = createServer((client) => {
      const database = connect(Number(this.#target.port), this.#target.hostname)
      for (const [from, to] of [
        [client, database],
        [database, client]
      ] as const) {
        this.#sockets.add(from)
        from.on('error', () => undefined) // told by `close`
        from.once('close', () => {
          this.#sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }
}
