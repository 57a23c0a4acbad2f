import { createPrivateKey } from 'node:crypto'
import type { Socket } from 'node:net'
import { signRequest } from '@open-payments-server/http-signatures/sign'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { summariseLatencies } from '../statistics.js'
import type { PrepareHttp, Send, Sent } from './messages.js'
import { Pacer } from './pacer.js'

/** A request as sent. */
export interface PreparedRequest {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  /** Alternating names and values. */
  readonly headers: string[]
  readonly body: Buffer | null
}

/**
 * Signs requests like the official JavaScript client: `;keyid=…;created=…`, without a nonce, with the same headers in the same
 * order, including those of Node's `fetch`.
 */
export function prepareHttp({ outlines, signer }: PrepareHttp): PreparedRequest[] {
  const privateKey = signer === undefined ? undefined : createPrivateKey(signer.privateKey)
  const createdSeconds = Math.floor(Date.now() / 1_000)
  return outlines.map(({ method, url, accessToken, body: content }) => {
    const target = new URL(url)
    const body = content === undefined ? undefined : Buffer.from(JSON.stringify(content))
    const headers: Record<string, string> = {
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(body.length) }),
      ...(accessToken === undefined ? {} : { authorization: `GNAP ${accessToken}` })
    }
    if (signer !== undefined && privateKey !== undefined) {
      const parts = { method, targetUri: target.href, headers, body }
      Object.assign(headers, signRequest(parts, { keyId: signer.keyId, privateKey, createdSeconds }))
    }
    return {
      method,
      path: target.pathname + target.search,
      headers: inOrder(target.host, headers),
      body: body ?? null
    }
  })
}

/** The client's headers, as recorded from it. undici writes `connection` itself. */
function inOrder(host: string, headers: Readonly<Record<string, string>>): string[] {
  const ordered: readonly (readonly [name: string, value: string | undefined])[] = [
    ['host', host],
    ['accept', 'application/json'],
    ['authorization', headers.authorization],
    ['Content-Type', headers['content-type']],
    ['Content-Digest', headers['content-digest']],
    ['Signature', headers.signature],
    ['Signature-Input', headers['signature-input']],
    ['accept-language', '*'],
    ['sec-fetch-mode', 'cors'],
    ['user-agent', 'node'],
    ['accept-encoding', 'gzip, deflate'],
    ['content-length', headers['content-length']]
  ]
  return ordered.flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
}

/**
 * Sends requests over persistent connections, one at a time on each.
 *
 * @param cursor position in the pool; advanced, unless the pool is repeated
 * @throws Error for an unexpected answer, or none
 */
export async function sendHttp(
  pool: readonly PreparedRequest[],
  cursor: { next: number },
  task: Send
): Promise<Sent> {
  const connections = await Connections.open(task)
  try {
    const start = performance.now()
    const left = pool.length - cursor.next
    const countMax = Math.min(
      task.count ?? Number.POSITIVE_INFINITY,
      task.repeat ? Number.POSITIVE_INFINITY : left
    )
    const { seconds: secondsMax, perSecond, leadInSeconds } = task
    const pacer = new Pacer({ seconds: secondsMax, countMax, perSecond, leadInSeconds })
    const position = task.repeat ? { next: 0 } : cursor
    const take = (): PreparedRequest => {
      const request = pool[position.next % pool.length]
      position.next += 1
      if (request === undefined) throw new Error('there are no requests to send')
      return request
    }
    const before = connections.bytes()
    const senders = connections.clients.map((client) => new Sender(client, { task, pacer, take }))
    await Promise.all(senders.map((sender) => sender.run()))
    const seconds = (performance.now() - start) / 1_000
    const after = connections.bytes()
    const latencies = Float64Array.from(senders.flatMap((sender) => sender.latenciesMs))
    return {
      count: senders.reduce((sum, sender) => sum + sender.count, 0),
      seconds,
      ...summariseLatencies(latencies),
      bytesSent: after.sent - before.sent,
      bytesReceived: after.received - before.received,
      captured: senders.flatMap((sender) => sender.captured)
    }
  } finally {
    await connections.close()
  }
}

/** The connections of a run. They are opened before it begins, so that latencies contain no connection setup. */
class Connections {
  readonly #sockets: Socket[] = []
  readonly clients: Client[] = []

  static async open({ targets, concurrency }: Send): Promise<Connections> {
    const connections = new Connections()
    for (let index = 0; index < concurrency; index += 1) {
      const connect = buildConnector({})
      const client = new Client(targets[index % targets.length] ?? '', {
        connect: (options, callback) => {
          connect(options, (...result) => {
            if (result[1] !== null) connections.#sockets.push(result[1])
            callback(...result)
          })
        }
      })
      connections.clients.push(client)
    }
    await Promise.all(connections.clients.map(openByRequest))
    return connections
  }

  bytes(): { sent: number; received: number } {
    return {
      sent: this.#sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
      received: this.#sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()))
  }
}

/** A client connects only with a request, so an arbitrary one is sent and its answer ignored. */
async function openByRequest(client: Client): Promise<void> {
  const { body } = await client.request({ method: 'GET', path: '/' })
  await body.dump()
}

interface SenderParts {
  readonly task: Send
  readonly pacer: Pacer
  readonly take: () => PreparedRequest
}

/** Sends over one connection, and parses as little of the answers as possible. */
class Sender implements Dispatcher.DispatchHandler {
  readonly latenciesMs: number[] = []
  count = 0
  readonly captured: string[][] = []
  readonly #client: Client
  readonly #parts: SenderParts
  #dueMs = 0
  #status = 0
  #body: Buffer[] = []
  #resolve: () => void = () => undefined
  #reject: (error: Error) => void = () => undefined

  constructor(client: Client, parts: SenderParts) {
    this.#client = client
    this.#parts = parts
  }

  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#sendNext()
    })
  }

  #sendNext(): void {
    this.#parts.pacer.next((dueMs) => {
      if (dueMs === undefined) {
        this.#resolve()
        return
      }
      this.#dueMs = dueMs
      this.#body = []
      this.#client.dispatch(this.#parts.take(), this)
    })
  }

  onRequestStart(): void {
    // Nothing is known yet.
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    this.#status = statusCode
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { task } = this.#parts
    if (task.capture !== undefined || this.#status !== task.status) this.#body.push(chunk)
  }

  onResponseEnd(): void {
    const { task, pacer } = this.#parts
    if (pacer.counts(this.#dueMs)) this.latenciesMs.push(performance.now() - this.#dueMs)
    this.count += 1
    if (this.#status !== task.status) {
      const body = Buffer.concat(this.#body).toString()
      this.#reject(new Error(`answered ${String(this.#status)} instead of ${String(task.status)}: ${body}`))
      return
    }
    if (task.capture !== undefined) this.captured.push(pick(Buffer.concat(this.#body), task.capture))
    this.#sendNext()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error)
  }
}

function pick(body: Buffer, paths: readonly string[]): string[] {
  const document: unknown = JSON.parse(body.toString())
  return paths.map((path) => {
    const value = path
      .split('.')
      .reduce<unknown>(
        (at, name) =>
          typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined,
        document
      )
    if (typeof value !== 'string') throw new Error(`no text at ${path} in ${body.toString()}`)
    return value
  })
}
