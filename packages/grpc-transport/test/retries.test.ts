import { describe, expect, it } from '@jest/globals'
import { startTcpProxy } from '@open-payments-server/local-services'
import { auth } from '@open-payments-server/proto'
import { callUnary, createClient, isRpcError, RpcError, status } from '../src/index.js'
import {
  afterTest,
  limitsClient,
  rejectionOf,
  reserveRequest,
  reserveResponse,
  startServer
} from './fixture.js'

const UNAVAILABLE = new RpcError({ code: status.UNAVAILABLE, message: 'Not now' })

/** A server that refuses the first calls with an error. */
async function startRefusing(times: number, error: Error) {
  const calls: number[] = []
  const { server } = await startServer(({ unary }) => ({
    limits: {
      reserve: unary(() => {
        calls.push(Date.now())
        return calls.length <= times ? Promise.reject(error) : Promise.resolve(reserveResponse())
      })
    }
  }))
  return { address: server.address, calls }
}

describe('a call that may be repeated', () => {
  it('is repeated while the server is unavailable', async () => {
    const { address, calls } = await startRefusing(3, UNAVAILABLE)

    expect(await callUnary(limitsClient(address), 'reserve', reserveRequest(), { idempotent: true })).toEqual(
      reserveResponse()
    )
    expect(calls).toHaveLength(4)
  })

  it('waits longer before each retry', async () => {
    const { address, calls } = await startRefusing(3, UNAVAILABLE)

    await callUnary(limitsClient(address), 'reserve', reserveRequest(), { idempotent: true })

    const pauses = calls.slice(1).map((time, index) => time - (calls[index] ?? 0))
    expect(pauses).toHaveLength(3)
    for (const [index, leastMs] of [50, 100, 200].entries()) {
      // Timers may fire a millisecond early.
      expect(pauses[index]).toBeGreaterThanOrEqual(leastMs - 2)
    }
  })

  it('is repeated no more often than the channel allows', async () => {
    const { address, calls } = await startRefusing(10, UNAVAILABLE)

    const error = await rejectionOf(
      callUnary(limitsClient(address, { retriesMax: 2 }), 'reserve', reserveRequest(), { idempotent: true })
    )

    expect(isRpcError(error, status.UNAVAILABLE)).toBe(true)
    expect(error).toMatchObject({ message: 'Service unavailable' })
    expect(calls).toHaveLength(3)
  })

  it('is not repeated past its deadline', async () => {
    const { address, calls } = await startRefusing(10, UNAVAILABLE)
    const deadline = new Date(Date.now() + 40)

    // Whether the first answer comes before the deadline depends on the machine; that there is no second one does not.
    await rejectionOf(
      callUnary(limitsClient(address), 'reserve', reserveRequest(), { idempotent: true, deadline })
    )

    expect(calls.length).toBeLessThanOrEqual(1)
  })

  it('is not repeated for any other error', async () => {
    for (const code of [
      status.INTERNAL,
      status.ABORTED,
      status.RESOURCE_EXHAUSTED,
      status.FAILED_PRECONDITION
    ]) {
      const { address, calls } = await startRefusing(10, new RpcError({ code, message: 'No' }))

      const error = await rejectionOf(
        callUnary(limitsClient(address), 'reserve', reserveRequest(), { idempotent: true })
      )
      expect(isRpcError(error, code)).toBe(true)
      expect(calls).toHaveLength(1)
    }
  })

  it('can be cancelled between two attempts', async () => {
    const { address, calls } = await startRefusing(10, UNAVAILABLE)
    const abort = new AbortController()
    const call = callUnary(limitsClient(address), 'reserve', reserveRequest(), {
      idempotent: true,
      signal: abort.signal
    })
    while (calls.length < 2) await new Promise((resolve) => setImmediate(resolve))
    abort.abort()

    expect(isRpcError(await rejectionOf(call), status.CANCELLED)).toBe(true)
    expect(calls).toHaveLength(2)
  })

  it('is repeated when its connection breaks', async () => {
    const calls: string[] = []
    const { server } = await startServer(({ unary }) => ({
      limits: {
        reserve: unary(async (_, { peer, signal }) => {
          calls.push(peer)
          if (calls.length > 1) return reserveResponse()
          proxy.drop()
          await new Promise((resolve) => {
            signal.addEventListener('abort', resolve)
          })
          throw new Error('nobody waits for this')
        })
      }
    }))
    const proxy = await startTcpProxy(`http://${server.address}`)
    afterTest(() => proxy.stop())

    const client = limitsClient(new URL(proxy.url).host)
    expect(await callUnary(client, 'reserve', reserveRequest(), { idempotent: true })).toEqual(
      reserveResponse()
    )
    expect(new Set(calls).size).toBe(2)
  })

  it('reaches a server that restarts', async () => {
    const implement = ({ unary }: Parameters<Parameters<typeof startServer>[0]>[0]) => ({
      limits: { reserve: unary(() => Promise.resolve(reserveResponse())) }
    })
    const { server } = await startServer(implement)
    const client = limitsClient(server.address)
    await callUnary(client, 'reserve', reserveRequest(), { idempotent: true })
    await server.stop(1_000)

    const once = await rejectionOf(callUnary(client, 'reserve', reserveRequest(), { idempotent: false }))
    expect(once).toMatchObject({ code: status.UNAVAILABLE, message: 'Service unavailable' })

    const call = callUnary(client, 'reserve', reserveRequest(), { idempotent: true })
    await startServer(implement, { port: server.port })
    expect(await call).toEqual(reserveResponse())
  })
})

describe('a call that may not be repeated', () => {
  it('is made once', async () => {
    const { address, calls } = await startRefusing(1, UNAVAILABLE)

    const error = await rejectionOf(
      callUnary(limitsClient(address), 'reserve', reserveRequest(), { idempotent: false })
    )

    expect(isRpcError(error, status.UNAVAILABLE)).toBe(true)
    expect(calls).toHaveLength(1)
  })
})

describe('a channel', () => {
  it('refuses more retries than are sensible', () => {
    for (const retriesMax of [-1, 4, 1.5]) {
      expect(() => limitsClient('127.0.0.1:1', { retriesMax })).toThrow(RangeError)
    }
  })

  it('is needed for a call, because other clients have no deadline', async () => {
    const { credentials } = await import('@grpc/grpc-js')
    const client = new auth.GrantLimitsServiceClient('127.0.0.1:1', credentials.createInsecure())
    expect(
      await rejectionOf(callUnary(client, 'reserve', reserveRequest(), { idempotent: true }))
    ).toBeInstanceOf(TypeError)
    client.close()
  })

  it('reaches every address behind a name', async () => {
    const peers: string[] = []
    const start = async () =>
      startServer(({ unary }) => ({
        limits: {
          reserve: unary((_, { peer }) => {
            peers.push(peer)
            return Promise.resolve(reserveResponse())
          })
        }
      }))
    const [first, second] = [await start(), await start()]
    // grpc-js takes several addresses in one target of this scheme, as it would get them for one name.
    const target = `ipv4:${first.server.address},${second.server.address}`
    const client = createClient(auth.GrantLimitsServiceClient, {
      target,
      deadlineMs: 5_000,
      retriesMax: 3,
      messageBytesMax: 65_536
    })
    const served = (lines: typeof first.lines): number =>
      lines.filter(({ fields }) => fields['code'] === 'OK').length

    // The second connection may come a little later than the first.
    for (
      let calls = 0;
      calls < 1_000 && (served(first.lines) === 0 || served(second.lines) === 0);
      calls += 1
    ) {
      await callUnary(client, 'reserve', reserveRequest(), { idempotent: true })
    }
    client.close()

    expect(served(first.lines)).toBeGreaterThan(0)
    expect(served(second.lines)).toBeGreaterThan(0)
  })
})
