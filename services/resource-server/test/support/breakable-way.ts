import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A way to a database that can break: a proxy over TCP. */
export class BreakableWay {
  readonly #target: URL
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isBroken = false

  private constructor(target: URL) {
    this.#target = target
    this.#server = createServer((client) => {
      this.#lead(client)
    })
  }

  /** @param url `postgresql://…`, reached without TLS */
  static async open(url: string): Promise<BreakableWay> {
    const way = new BreakableWay(new URL(url))
    await new Promise<void>((resolve) => way.#server.listen(0, '127.0.0.1', resolve))
    return way
  }

  /** Where the database is found by this way. */
  get url(): string {
    const url = new URL(this.#target)
    url.hostname = '127.0.0.1'
    url.port = String((this.#server.address() as AddressInfo).port)
    return url.href
  }

  /** Breaks every connection, and each that comes until it is mended. */
  break(): void {
    this.#isBroken = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#isBroken = false
  }

  /** Breaks it for good. */
  close(): void {
    this.break()
    this.#server.close()
  }

  #lead(client: Socket): void {
    if (this.#isBroken) {
      client.destroy()
      return
    }
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
  }
}
