import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { readMessages, type WireMessage } from './postgres-wire.js'

/** A point on a statement's way to the database and back. */
export interface StatementPoint {
  /** Matches the statement's name and text, and, of `commit`, what was done since `begin`. */
  readonly statement: RegExp
  /**
   * `before`: the database has not received it. `during`: it has, and may or may not have executed it. `after`: it is done, and
   * the service has not received the result.
   */
  readonly moment: 'before' | 'during' | 'after'
}

/** A statement that is stopped at a point. */
export interface StoppedStatement {
  /** Lets it continue. Has no effect if its connection is gone. */
  release(): void
}

interface Watch {
  readonly point: StatementPoint
  readonly onReached: (statement: StoppedStatement) => void
}

/**
 * A proxy between a service and its PostgreSQL that can stop any statement on its way there or back, so that a process can be
 * killed at exactly that point.
 */
export class DatabaseProxy {
  readonly #server: Server
  readonly #watches = new Set<Watch>()
  readonly #connections = new Set<ProxiedConnection>()

  private constructor(
    server: Server,
    /** Where the service finds its database. */
    readonly url: string
  ) {
    this.#server = server
  }

  /** @param databaseUrl `postgresql://…`, reached without TLS */
  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const target = new URL(databaseUrl)
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = new URL(databaseUrl)
    url.hostname = '127.0.0.1'
    url.port = String((server.address() as AddressInfo).port)
    const proxy = new DatabaseProxy(server, url.href)
    server.on('connection', (client) => {
      proxy.#accept(client, connect({ host: target.hostname, port: Number(target.port) }))
    })
    return proxy
  }

  /** Stops the next statement that reaches a point. Resolves once it is there. */
  stopAt(point: StatementPoint, signal?: AbortSignal): Promise<StoppedStatement> {
    return new Promise((resolve, reject) => {
      const watch: Watch = { point, onReached: resolve }
      this.#watches.add(watch)
      signal?.addEventListener('abort', () => {
        if (this.#watches.delete(watch)) reject(new Error(`no statement came to ${describePoint(point)}`))
      })
    })
  }

  /** Ends every connection and accepts no more. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const connection of this.#connections) connection.end()
    await closed
  }

  #accept(client: Socket, database: Socket): void {
    const connection = new ProxiedConnection(client, database, (statement, moment) =>
      this.#take(statement, moment)
    )
    this.#connections.add(connection)
    client.once('close', () => this.#connections.delete(connection))
  }

  /** Callers that wait for this statement; each gets one. */
  #take(statement: string, moment: StatementPoint['moment']): Watch['onReached'] | undefined {
    for (const watch of this.#watches) {
      if (watch.point.moment !== moment || !watch.point.statement.test(statement)) continue
      this.#watches.delete(watch)
      return watch.onReached
    }
    return undefined
  }
}

/** Describes a point. */
function describePoint({ statement, moment }: StatementPoint): string {
  return `${moment} ${String(statement)}`
}

/** Frontend messages that are followed by others of their cycle: Parse, Bind, Describe, Execute, Close. */
const CYCLE_PARTS = new Set(['P', 'B', 'D', 'E', 'C'])
/** Sent by the database when it waits for the next cycle. */
const READY_FOR_QUERY = 'Z'

/** One connection. Clients send a cycle of messages and wait for its end, so that at most one statement is on its way. */
class ProxiedConnection {
  readonly #client: Socket
  readonly #database: Socket
  readonly #take: (statement: string, moment: StatementPoint['moment']) => Watch['onReached'] | undefined
  readonly #statementTexts = new Map<string, string>()
  #cycle: WireMessage[] = []
  #transaction: string[] = []
  #atEnd: Watch['onReached'] | undefined
  /** The database's answer to a statement that is stopped after it was done. */
  #reply: Buffer[] = []

  constructor(
    client: Socket,
    database: Socket,
    take: (statement: string, moment: StatementPoint['moment']) => Watch['onReached'] | undefined
  ) {
    this.#client = client
    this.#database = database
    this.#take = take
    for (const socket of [client, database]) {
      socket.setNoDelay(true)
      // Both ends end each other: a killed service must not leave its transaction open.
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.end()
      })
    }
    readMessages(client, {
      startsUntyped: true,
      onMessage: (message) => {
        this.#fromClient(message)
      }
    })
    readMessages(database, {
      startsUntyped: false,
      onMessage: (message) => {
        this.#fromDatabase(message)
      }
    })
  }

  end(): void {
    this.#client.destroy()
    this.#database.destroy()
  }

  #fromClient(message: WireMessage): void {
    this.#cycle.push(message)
    if (CYCLE_PARTS.has(message.type)) return
    const bytes = Buffer.concat(this.#cycle.map((part) => part.bytes))
    const statement = this.#statementOf(this.#cycle)
    this.#cycle = []
    if (statement === undefined) {
      this.#database.write(bytes)
      return
    }
    const onBefore = this.#take(statement, 'before')
    if (onBefore !== undefined) {
      onBefore({
        release: () => {
          this.#forward(statement, bytes)
        }
      })
      return
    }
    this.#forward(statement, bytes)
  }

  #forward(statement: string, bytes: Buffer): void {
    // A client that is gone has taken its statement along.
    if (this.#client.destroyed) return
    this.#atEnd = this.#take(statement, 'after')
    this.#database.write(bytes, () => {
      this.#take(statement, 'during')?.({ release: () => undefined })
    })
  }

  #fromDatabase(message: WireMessage): void {
    if (this.#atEnd === undefined) {
      this.#client.write(message.bytes)
      return
    }
    this.#reply.push(message.bytes)
    if (message.type !== READY_FOR_QUERY) return
    const onReached = this.#atEnd
    const bytes = Buffer.concat(this.#reply)
    this.#atEnd = undefined
    this.#reply = []
    onReached({ release: () => this.#client.write(bytes) })
  }

  /** Name and text of the statement that a cycle runs; undefined when it runs none, as during connection setup. */
  #statementOf(cycle: readonly WireMessage[]): string | undefined {
    const statements = cycle.flatMap(({ type, bytes }) => {
      const texts = bytes.subarray(5).toString().split('\0')
      const [first = '', second = ''] = texts
      if (type === 'P') this.#statementTexts.set(first, second)
      if (type === 'B') return [`${second} ${this.#statementTexts.get(second) ?? ''}`.trim()]
      return type === 'Q' ? [first] : []
    })
    if (statements.length === 0) return undefined
    const statement = statements.join('; ')
    // Prisma writes them in capitals.
    const control = statement.trim().toLowerCase()
    if (control === 'begin') this.#transaction = []
    const told = control === 'commit' ? `commit of ${this.#transaction.join(', ')}` : statement
    this.#transaction.push(told)
    return told
  }
}
