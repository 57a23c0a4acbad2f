import { createClient, Metadata } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { summariseLatencies } from '../statistics.js'
import type { PrepareGrpc, Send, Sent } from './messages.js'
import { Pacer } from './pacer.js'

const DEADLINE_MS = 10_000
const MESSAGE_BYTES_MAX = 65_536

/**
 * Sends introspections over one channel to each address, which all senders share, as in a resource server.
 *
 * @throws Error when one fails, or says of a token that it is not active
 */
export async function sendGrpc(requests: PrepareGrpc['introspections'], task: Send): Promise<Sent> {
  const target = `ipv4:${task.targets.join(',')}`
  const channel = { target, deadlineMs: DEADLINE_MS, retriesMax: 0, messageBytesMax: MESSAGE_BYTES_MAX }
  const client = createClient(auth.IntrospectionServiceClient, channel)
  try {
    await untilConnected(client)
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
    let turn = 0
    const introspect = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const request = requests[(turn += 1) % requests.length]
        if (request === undefined) throw new Error('there are no introspections to send')
        client.introspect(
          request,
          new Metadata(),
          { deadline: Date.now() + DEADLINE_MS },
          (error, answer) => {
            if (error !== null) reject(error)
            else if (answer.status !== auth.TokenStatus.TOKEN_STATUS_ACTIVE)
              reject(new Error('a token is not active'))
            else resolve()
          }
        )
      })
    const sender = async (): Promise<void> => {
      for (;;) {
        const dueMs = await new Promise<number | undefined>((resolve) => pacer.next(resolve))
        if (dueMs === undefined) return
        await introspect()
        count += 1
        if (pacer.counts(dueMs)) latencies.push(performance.now() - dueMs)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, sender))
    return {
      count,
      seconds: (performance.now() - start) / 1_000,
      ...summariseLatencies(Float64Array.from(latencies)),
      bytesSent: 0,
      bytesReceived: 0,
      captured: []
    }
  } finally {
    client.close()
  }
}

function untilConnected(client: auth.IntrospectionServiceClient): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Date.now() + DEADLINE_MS, (error) => {
      if (error === undefined) resolve()
      else reject(error)
    })
  })
}
