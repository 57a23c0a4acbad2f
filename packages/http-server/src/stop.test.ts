import { afterEach, describe, expect, it } from '@jest/globals'
import { connectRaw, parseAnswers, sendRaw } from '@open-payments-server/testing'
import { type RunningHttpServer, startHttpServer } from './index.js'

const REQUEST = 'GET / HTTP/1.1\r\nHost: service.test\r\n\r\n'

let server: RunningHttpServer | undefined
afterEach(() => server?.stop(0))

/** A listener whose answers the test triggers. */
async function startTriggered(): Promise<{ running: RunningHttpServer; next: () => Promise<() => void> }> {
  const answers: (() => void)[] = []
  const takers: ((answer: () => void) => void)[] = []
  const running = await startHttpServer(
    (_request, response) => {
      const answer = (): void => void response.writeHead(200, { 'content-length': 2 }).end('ok')
      const taker = takers.shift()
      if (taker === undefined) answers.push(answer)
      else taker(answer)
    },
    { host: '127.0.0.1', port: 0 }
  )
  server = running
  return {
    running,
    next: () =>
      new Promise((resolve) => {
        const answer = answers.shift()
        if (answer === undefined) takers.push(resolve)
        else resolve(answer)
      })
  }
}

describe('a listener that announces its stop', () => {
  it('continues answering, and every answer closes its connection', async () => {
    const { running, next } = await startTriggered()
    running.announceStop()
    for (let count = 0; count < 2; count += 1) {
      const answers = sendRaw(running.port, REQUEST)
      ;(await next())()
      expect(await answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }])
    }
  })

  it('closes connections after the running answers', async () => {
    const { running, next } = await startTriggered()
    const answers = sendRaw(running.port, REQUEST)
    const answer = await next()
    running.announceStop()
    answer()
    expect(await answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }])
  })

  it('answers pipelined requests, and closes the connection after the last', async () => {
    const { running, next } = await startTriggered()
    const answers = sendRaw(running.port, REQUEST + REQUEST)
    const [first, second] = [await next(), await next()]
    running.announceStop()
    first()
    second()
    expect((await answers).map(({ status, headers }) => [status, headers.connection])).toEqual([
      [200, 'keep-alive'],
      [200, 'close']
    ])
  })
})

describe('a listener that stops', () => {
  it('waits for running answers, and accepts nothing new', async () => {
    const { running, next } = await startTriggered()
    const { socket, ended } = await connectRaw(running.port)
    socket.write(REQUEST)
    const answer = await next()
    const stopped = running.stop(20_000)
    await expect(sendRaw(running.port, REQUEST)).rejects.toThrow('ECONNREFUSED')
    answer()
    expect(parseAnswers(await ended)).toMatchObject([{ status: 200, headers: { connection: 'close' } }])
    await stopped
  })

  it('cuts off what outlasts the grace period', async () => {
    const { running, next } = await startTriggered()
    const answers = sendRaw(running.port, REQUEST)
    await next()
    await running.stop(20)
    expect(await answers).toEqual([])
  })
})
