import { type ClientHttp2Session, connect } from 'node:http2'
import { once } from 'node:events'
import { auth } from '@open-payments-server/proto'
import { summariseLatencies } from '../statistics.js'
import type { PrepareGrpc, Send, Sent } from './messages.js'
import { Pacer } from './pacer.js'

/** Length of a message's prefix: compression flag and length (gRPC over HTTP/2, Length-Prefixed-Message). */
const PREFIX_BYTES = 5
const OK = '0'
const HEADERS = {
  ':method': 'POST',
  ':path': auth.IntrospectionServiceService.introspect.path,
  'content-type': 'application/grpc',
  te: 'trailers',
  'grpc-timeout': '10S'
}

/** Encodes introspections, so that only sending remains. */
export function prepareGrpc({ introspections }: PrepareGrpc): Buffer[] {
  return introspections.map((introspection) => {
    const message = auth.IntrospectRequest.encode(auth.IntrospectRequest.fromPartial(introspection)).finish()
    const prefix = Buffer.alloc(PREFIX_BYTES)
    prefix.writeUInt32BE(message.length, 1)
    return Buffer.concat([prefix, message])
  })
}

/**
 * Sends introspections over one connection to each address, which senders share, like those of a resource server. It uses HTTP/2
 * directly, because a grpc-js client needs as much CPU time for a call as its server, and both share two cores.
 *
 * @throws Error when one fails or reports an inactive token
 */
export async function sendGrpc(requests: readonly Buffer[], task: Send): Promise<Sent> {
  const sessions = await Promise.all(task.targets.map(open))
  try {
    const start = performance.now()
    const { seconds, perSecond, leadInSeconds, concurrency } = task
    const pacer = new Pacer({
      seconds,
      perSecond,
      leadInSeconds,
      countMax: task.count ?? Number.POSITIVE_INFINITY
    })
    const latencies: number[] = []
    let count = 0
    const sender = async (session: ClientHttp2Session): Promise<void> => {
      for (;;) {
        const dueMs = await new Promise<number | undefined>((resolve) => pacer.next(resolve))
        if (dueMs === undefined) return
        await introspect(session, at(requests, count))
        count += 1
        if (pacer.counts(dueMs)) latencies.push(performance.now() - dueMs)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, (_, index) => sender(at(sessions, index))))
    return {
      count,
      seconds: (performance.now() - start) / 1_000,
      ...summariseLatencies(Float64Array.from(latencies)),
      bytesSent: 0,
      bytesReceived: 0,
      captured: []
    }
  } finally {
    for (const session of sessions) session.destroy()
  }
}

async function open(target: string): Promise<ClientHttp2Session> {
  const session = connect(`http://${target}`)
  await once(session, 'connect')
  return session
}

function introspect(session: ClientHttp2Session, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request(HEADERS)
    let answer: Buffer | undefined
    stream.on('error', reject)
    stream.on('data', (chunk: Buffer) => {
      answer = answer === undefined ? chunk : Buffer.concat([answer, chunk])
    })
    stream.on('trailers', ({ 'grpc-status': code }) => {
      if (code !== OK) reject(new Error(`an introspection ended with ${String(code)}`))
      else if (isActive(answer)) resolve()
      else reject(new Error('a token is not active'))
    })
    // A call that fails at once has its code in the headers, and no trailers.
    stream.on('response', ({ 'grpc-status': code }) => {
      if (code !== undefined) reject(new Error(`an introspection ended with ${String(code)}`))
    })
    stream.end(request)
  })
}

function isActive(answer: Buffer | undefined): boolean {
  if (answer === undefined) return false
  const { status } = auth.IntrospectResponse.decode(answer.subarray(PREFIX_BYTES))
  return status === auth.TokenStatus.TOKEN_STATUS_ACTIVE
}

function at<Item>(items: readonly Item[], turn: number): Item {
  const item = items[turn % items.length]
  if (item === undefined) throw new Error('there is nothing to send, or nowhere to send it to')
  return item
}
