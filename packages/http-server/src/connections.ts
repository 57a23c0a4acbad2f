import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '@open-payments-server/runtime'
import { findRefusal, type Refusal, refusalBytes, refusalOf, refuse } from './refusals.js'

/** The limits for a listener's connections. */
export interface ConnectionRules {
  /** Maximum time that a client may read nothing of its answer, in milliseconds. */
  readonly answerStallTimeoutMs: number
  /** Maximum time to read the rest of a body after its answer, in milliseconds. */
  readonly discardTimeoutMs: number
  /** Maximum number of requests per connection. */
  readonly requestsPerConnectionMax: number
  /** Code of refusals, as the app has it. */
  readonly badRequestCode: string
  /** Gets one line for each refusal; none when undefined. */
  readonly logger: Logger | undefined
}

/** The state of a connection. */
interface Connection {
  /**
   * Pending answers, in the order of their requests: seldom more than one. An array, because a set that is filled and
   * emptied constantly allocates new tables, and the old ones keep their contents until old objects are collected.
   */
  readonly pending: ServerResponse[]
  requests: number
  /** Whether it is closed after an answer that was given: nothing after that is acted on. */
  isEnding: boolean
}

/**
 * Between a server's connections and its app: what Node would answer in its own words, or cut off silently, is answered
 * like the app's errors, and no client keeps a connection by doing nothing.
 */
export class Connections {
  readonly #app: RequestListener
  readonly #rules: ConnectionRules
  /** Open connections that have sent something. */
  readonly #connections = new Map<Socket, Connection>()
  #isFull = false
  #areEnding = false

  constructor(app: RequestListener, rules: ConnectionRules) {
    this.#app = app
    this.#rules = rules
  }

  /** Listens to all connection events of a server. */
  attach(server: Server): void {
    server.on('request', (request, response) => {
      this.#receive(request, response)
    })
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      if (!this.#begin(request, response)) return
      this.#refuse(response, { status: 417, description: 'the expectation cannot be met' }, 'expectation')
    })
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      this.#refuseSocket(socket, { status: 405, description: 'there are no tunnels here' }, 'CONNECT')
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      this.#fail(socket, error)
    })
    server.on('timeout', (socket: Socket) => {
      this.#expire(socket)
    })
    server.on('connection', () => {
      this.#isFull = false
    })
    server.on('drop', () => {
      // Logged once; a flood must not fill the log.
      if (!this.#isFull) this.#rules.logger?.warn('too many connections: more are closed at once')
      this.#isFull = true
    })
  }

  /** From now on every answer closes its connection, including pending ones. */
  endAll(): void {
    this.#areEnding = true
    for (const { pending } of this.#connections.values()) {
      const last = pending.at(-1)
      if (last?.headersSent === false) this.#endWith(last)
    }
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#begin(request, response)) return
    const refusal = findRefusal(request)
    if (refusal === undefined) this.#app(request, response)
    else this.#refuse(response, refusal, 'message')
  }

  /** @returns false for a request behind the last one of its connection: its sender could not be told the result */
  #begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#of(request.socket)
    if (connection.isEnding) return false
    connection.pending.push(response)
    connection.requests += 1
    const isLast = this.#areEnding || connection.requests >= this.#rules.requestsPerConnectionMax
    if (isLast) this.#endWith(response)
    // Reported once, right after its end if it has one.
    response.on('close', () => {
      connection.pending.splice(connection.pending.indexOf(response), 1)
      if (response.writableFinished) this.#discard(request)
    })
    return true
  }

  /** Reads the rest of a body that no route read, so that the client gets to its answer; for a limited time. */
  #discard(request: IncomingMessage): void {
    if (request.complete) return
    request.resume()
    const timer = setTimeout(() => {
      if (!request.complete) request.socket.destroy()
    }, this.#rules.discardTimeoutMs)
    timer.unref()
  }

  #of(socket: Socket): Connection {
    const known = this.#connections.get(socket)
    if (known !== undefined) return known
    const connection: Connection = { pending: [], requests: 0, isEnding: false }
    if (socket.destroyed) return connection
    this.#connections.set(socket, connection)
    socket.once('close', () => {
      this.#connections.delete(socket)
    })
    return connection
  }

  #endWith(response: ServerResponse): void {
    this.#of(response.req.socket).isEnding = true
    response.shouldKeepAlive = false
  }

  /** The parser gave up on a connection. */
  #fail(socket: Socket, error: NodeJS.ErrnoException): void {
    const refusal = refusalOf(error.code)
    const last = this.#of(socket).pending.at(-1)
    if (refusal === undefined || !socket.writable) socket.destroy()
    else if (last === undefined) this.#refuseSocket(socket, refusal, error.code)
    else if (last.req.complete) this.#closeAfter(last, socket)
    else if (last.headersSent) socket.destroy()
    else this.#refuse(last, refusal, error.code)
  }

  /** The error came after a complete request: its answer must not be taken for that of the request. */
  #closeAfter(last: ServerResponse, socket: Socket): void {
    this.#endWith(last)
    last.once('close', () => {
      socket.destroy()
    })
  }

  /** Nothing was sent or received within the timeout. */
  #expire(socket: Socket): void {
    const isWorking = this.#of(socket).pending.length > 0 && socket.writableLength === 0
    if (isWorking) socket.setTimeout(this.#rules.answerStallTimeoutMs)
    else socket.destroy()
  }

  #refuse(response: ServerResponse, refusal: Refusal, reason: string | undefined): void {
    this.#tell(refusal, reason)
    this.#endWith(response)
    refuse(response, refusal, this.#rules.badRequestCode)
  }

  #refuseSocket(socket: Socket, refusal: Refusal, reason: string | undefined): void {
    this.#tell(refusal, reason)
    socket.end(refusalBytes(refusal, this.#rules.badRequestCode), () => {
      socket.destroy()
    })
  }

  #tell({ status }: Refusal, reason: string | undefined): void {
    this.#rules.logger?.info({ status, reason: reason ?? 'unknown' }, 'request refused')
  }
}
