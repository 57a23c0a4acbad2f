import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@grpc/grpc-js'
import type { auth } from '@open-payments-server/proto'
import { describe, expect, it } from '@jest/globals'
import { callUnary, isRpcError, readStream, status } from '../src/index.js'
import {
  afterTest,
  introspectionClient,
  limitsClient,
  rejectionOf,
  reserveRequest,
  reserveResponse,
  startServer
} from './fixture.js'

const DEADLINE_MS = 1_000
/** For a call on a wire that is well, on a busy machine. */
const PATIENCE_MS = 20_000
/** How long a channel may take to get over a connection that fell silent. */
const SILENT_CONNECTION_MAX_MS = 6_000
/** The same for connections that were silent from the beginning. */
const SILENT_FROM_THE_START_MAX_MS = 8_000

/** Forwards connections to a port of the loopback. Falls silent: nothing passes, and nothing is closed. */
async function startWire(target: number) {
  const sockets = new Set<Socket>()
  let silent = false
  let accepted = 0
  const wire = createServer((incoming) => {
    accepted += 1
    const outgoing = silent ? undefined : connect(target, '127.0.0.1')
    for (const socket of [incoming, outgoing]) {
      if (socket === undefined) continue
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    if (outgoing !== undefined) incoming.pipe(outgoing).pipe(incoming)
  })
  await new Promise<void>((resolve) => {
    wire.listen(0, '127.0.0.1', resolve)
  })
  afterTest(() => {
    for (const socket of sockets) socket.destroy()
    wire.close()
  })
  return {
    address: `127.0.0.1:${String((wire.address() as AddressInfo).port)}`,
    get accepted() {
      return accepted
    },
    /** Connections that there are fall silent for good, and new ones are until `heal`. */
    fallSilent() {
      silent = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    /** New connections are forwarded again. */
    heal() {
      silent = false
    }
  }
}

async function startSystem() {
  const { server } = await startServer(({ unary, serverStreaming }) => ({
    limits: { reserve: unary(() => Promise.resolve(reserveResponse())) },
    introspection: {
      watchRevocations: serverStreaming(async (_request: auth.WatchRevocationsRequest, stream) => {
        await stream.write({ event: { $case: 'started', value: {} } })
        await new Promise((resolve) => {
          stream.signal.addEventListener('abort', resolve)
        })
      })
    }
  }))
  return startWire(server.port)
}

describe('a connection that falls silent without closing', () => {
  it('fails calls at their deadline, until it is detected', async () => {
    const wire = await startSystem()
    const client = limitsClient(wire.address, { deadlineMs: DEADLINE_MS })
    const call = (deadlineMs?: number) =>
      callUnary(client, 'reserve', reserveRequest(), { idempotent: true, deadlineMs })
    await call(PATIENCE_MS)
    wire.fallSilent()
    wire.heal()
    const error = await rejectionOf(call())
    expect(isRpcError(error, status.DEADLINE_EXCEEDED)).toBe(true)
    expect(await succeedsWithin(SILENT_CONNECTION_MAX_MS, call)).toBe(true)
    expect(wire.accepted).toBe(2)
  })

  it('ends a stream', async () => {
    const wire = await startSystem()
    const stream = readStream(
      introspectionClient(wire.address),
      'watchRevocations',
      {},
      { signal: new AbortController().signal }
    )
    await stream.next()
    wire.fallSilent()
    const silentSinceMs = performance.now()
    expect(isRpcError(await rejectionOf(stream.next()), status.UNAVAILABLE)).toBe(true)
    expect(performance.now() - silentSinceMs).toBeLessThan(SILENT_CONNECTION_MAX_MS)
  })

  it('is retried when it was silent from the start, and works once it recovers', async () => {
    const wire = await startSystem()
    wire.fallSilent()
    const client = limitsClient(wire.address, { deadlineMs: DEADLINE_MS })
    const call = () => callUnary(client, 'reserve', reserveRequest(), { idempotent: true })
    await rejectionOf(call())
    expect(wire.accepted).toBe(1)
    wire.heal()
    expect(await succeedsWithin(SILENT_FROM_THE_START_MAX_MS, call)).toBe(true)
  })

  it('does not end waiting for the server', async () => {
    const wire = await startSystem()
    wire.fallSilent()
    const client = limitsClient(wire.address)
    const connected = failureToConnect(client, SILENT_FROM_THE_START_MAX_MS)
    while (wire.accepted === 0) await delay(10)
    wire.heal()
    expect(await connected).toBeUndefined()
  })
})

/** What kept a client from connecting in time, if anything did. */
function failureToConnect(client: Client, limitMs: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    client.waitForReady(Date.now() + limitMs, resolve)
  })
}

/** Whether a call that is made again and again succeeds in time. */
async function succeedsWithin(limitMs: number, call: () => Promise<unknown>): Promise<boolean> {
  const startedAtMs = performance.now()
  while (performance.now() - startedAtMs < limitMs) {
    const succeeded = await call().then(
      () => true,
      () => false
    )
    if (succeeded) return true
    await delay(50)
  }
  return false
}
