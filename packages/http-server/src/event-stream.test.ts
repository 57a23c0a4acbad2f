import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import {
  createHttpApp,
  type EventStream,
  formatMessage,
  type RunningHttpServer,
  startHttpServer
} from './index.js'
import type { HttpServerOptions } from './server.js'

const REQUEST = 'GET /events HTTP/1.1\r\nHost: service.test\r\n\r\n'

let server: RunningHttpServer | undefined
let socket: Socket | undefined
afterEach(async () => {
  socket?.destroy()
  await server?.stop(0)
})

/** Opens a stream, and its connection as its client has it. */
async function open(options: Partial<HttpServerOptions> = {}) {
  let opened: (stream: EventStream) => void = () => undefined
  let closed = false
  const stream = new Promise<EventStream>((resolve) => {
    opened = resolve
  })
  const app = createHttpApp({
    logger: createLogger({ service: 'test', level: 'silent' }),
    bodyBytesMax: 0,
    routes: [
      {
        method: 'GET',
        path: '/events',
        handle: (request, response) => {
          request.beginWait()
          response.onClosed(() => {
            closed = true
          })
          opened(response.openEventStream())
        }
      }
    ],
    unexpectedCode: '500',
    badRequestCode: '400'
  })
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0, ...options })
  const client = connect(server.port, '127.0.0.1')
  socket = client
  client.on('error', () => undefined) // it is cut off
  client.write(REQUEST)
  return { client, stream: await stream, isClosed: () => closed }
}

describe('a message', () => {
  it('is written as WHATWG HTML has it', () => {
    expect(formatMessage({ type: 'a.b', id: '7', data: '{"c":1}' })).toBe(
      'event: a.b\nid: 7\ndata: {"c":1}\n\n'
    )
    expect(formatMessage({ type: 'a', id: undefined, data: 'one\ntwo\r\nthree\rfour' })).toBe(
      'event: a\ndata: one\ndata: two\ndata: three\ndata: four\n\n'
    )
  })
})

describe('an event stream', () => {
  it('outlives the times in which requests and answers must move', async () => {
    const brief = {
      headersTimeoutMs: 50,
      requestTimeoutMs: 50,
      answerStallTimeoutMs: 50,
      keepAliveTimeoutMs: 50
    }
    const { client, stream, isClosed } = await open({ ...brief, timeoutCheckIntervalMs: 10 })
    let text = ''
    client.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    await delay(500)
    expect(isClosed()).toBe(false)
    const ended = once(client, 'close')
    stream.beat()
    stream.end(1_234.5)
    await ended
    while (!isClosed()) await delay(5)
    expect(text).toMatch(/\r\n:\n\n\r\n.*retry: 1235\n\n/s)
  })

  it('is cut off when its client does not read it, however much is written', async () => {
    const { client, stream, isClosed } = await open()
    client.pause()
    const before = process.memoryUsage().rss
    const message = 'x'.repeat(100_000)
    while (!isClosed()) {
      stream.write(message)
      await new Promise(setImmediate)
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
    stream.write(message)
    stream.end(0)
  })

  it('is over when its client leaves', async () => {
    const { client, stream, isClosed } = await open()
    client.destroy()
    while (!isClosed()) await delay(5)
    stream.beat()
    stream.end(0)
  })

  it('ends its connection no later than a stopping listener waits', async () => {
    const { client, stream } = await open()
    const stopped = server?.stop(60_000)
    stream.end(0)
    await Promise.all([stopped, once(client.resume(), 'close')])
  })
})
