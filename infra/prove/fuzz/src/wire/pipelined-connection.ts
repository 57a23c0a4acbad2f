import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { RawAnswer } from '@open-payments-server/testing'

const HEAD_END = '\r\n\r\n'

/** A connection of HTTP/1.1 that stays open, on which several requests are sent before the first is answered. */
export class PipelinedConnection {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #answers: RawAnswer[] = []
  /** Set once something came that is no answer. */
  #unreadable: Error | undefined
  /** Called when an answer, or the end, has come. */
  #tell: () => void = () => undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (bytes) => {
      this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
      this.#parse()
      this.#tell()
    })
    // A reset is one of the ways to end it.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#tell()
    })
  }

  /** Connects to a port of 127.0.0.1. */
  static async open(port: number): Promise<PipelinedConnection> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new PipelinedConnection(socket)
  }

  /** Whether more can be sent: neither side has ended it. */
  get isOpen(): boolean {
    return this.#socket.writable && !this.#socket.readableEnded
  }

  /**
   * Sends requests, and waits for their answers.
   *
   * @returns the answers to the first of them: to all, unless the server ended the connection
   * @throws Error when something else is received than answers with a length
   */
  async send(requests: readonly Buffer[]): Promise<readonly RawAnswer[]> {
    this.#socket.write(Buffer.concat(requests))
    await new Promise<void>((resolve) => {
      this.#tell = () => {
        const isOver = this.#socket.destroyed || this.#unreadable !== undefined
        if (this.#answers.length >= requests.length || isOver) resolve()
      }
      this.#tell()
    })
    if (this.#unreadable !== undefined) throw this.#unreadable
    const answers = this.#answers
    this.#answers = []
    return answers
  }

  /** Sends something, and ends the connection without waiting for anything. */
  breakOff(bytes: Buffer): void {
    this.#socket.write(bytes, () => this.#socket.destroy())
  }

  end(): void {
    this.#socket.destroy()
  }

  #parse(): void {
    for (;;) {
      const headEnd = this.#received.indexOf(HEAD_END)
      if (headEnd < 0) return
      const [first = '', ...lines] = this.#received.subarray(0, headEnd).toString('latin1').split('\r\n')
      const headers = Object.fromEntries(
        lines.map((line) => {
          const colon = line.indexOf(':')
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
        })
      )
      const bodyBegin = headEnd + HEAD_END.length
      const bodyEnd = bodyBegin + Number(headers['content-length'] ?? NaN)
      if (Number.isNaN(bodyEnd)) {
        this.#unreadable = new Error(`an answer has no length: ${first}`)
        return
      }
      if (this.#received.length < bodyEnd) return
      const body = this.#received.subarray(bodyBegin, bodyEnd).toString('latin1')
      this.#answers.push({ status: Number(first.split(' ')[1]), headers, body })
      this.#received = this.#received.subarray(bodyEnd)
    }
  }
}
