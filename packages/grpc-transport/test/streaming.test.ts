import { credentials } from '@grpc/grpc-js'
import { auth } from '@open-payments-server/proto'
import { describe, expect, it } from '@jest/globals'
import { type GrpcServerOptions, readStream, RpcError, status, type StreamHandler } from '../src/index.js'
import { closing, introspectionClient, promiseWithResolvers, rejectionOf, startServer } from './fixture.js'

type Watch = StreamHandler<auth.WatchRevocationsRequest, auth.WatchRevocationsResponse>

const METHOD = '/openpayments.auth.v1.IntrospectionService/WatchRevocations'
const REQUEST = auth.WatchRevocationsRequest.create()
const NEVER = new AbortController().signal

function startWatch(watch: Watch, options: Partial<GrpcServerOptions> = {}) {
  return startServer(
    ({ serverStreaming }) => ({ introspection: { watchRevocations: serverStreaming(watch) } }),
    options
  )
}

function revoked(grantId: string): auth.WatchRevocationsResponse {
  return auth.WatchRevocationsResponse.fromPartial({ event: { $case: 'grantRevoked', value: { grantId } } })
}

function grantIdOf(message: auth.WatchRevocationsResponse): string {
  if (message.event?.$case !== 'grantRevoked') throw new Error('expected a revoked grant')
  return message.event.value.grantId
}

/** A stream that writes nothing and ends only when it is aborted; tells why. */
function startIdleWatch(options: Partial<GrpcServerOptions> = {}) {
  const started = promiseWithResolvers()
  const reason = promiseWithResolvers<unknown>()
  return startWatch(async (_, { signal, write }) => {
    signal.addEventListener('abort', () => {
      reason.resolve(signal.reason)
    })
    await write(revoked('first'))
    started.resolve()
    throw await reason.promise
  }, options).then((running) => ({ ...running, started: started.promise, reason: reason.promise }))
}

describe('a server stream', () => {
  it('needs no deadline, sends its messages in order, and ends when its handler is done', async () => {
    const { server, lines } = await startWatch(async (_, { write }) => {
      for (let index = 0; index < 100; index += 1) await write(revoked(String(index)))
    })

    const received: string[] = []
    for await (const message of readStream(introspectionClient(server.address), 'watchRevocations', REQUEST, {
      signal: NEVER
    })) {
      received.push(grantIdOf(message))
    }

    expect(received).toEqual(Array.from({ length: 100 }, (_, index) => String(index)))
    expect(lines.filter(({ fields }) => fields['method'] === METHOD)).toEqual([
      { level: 'info', fields: { method: METHOD, code: 'OK', durationMs: expect.any(Number) } }
    ])
  })

  it('ends with the error its handler throws, after what was sent', async () => {
    const { server } = await startWatch(async (_, { write }) => {
      await write(revoked('one'))
      throw new RpcError({ code: status.FAILED_PRECONDITION, message: 'Enough', field: 'request' })
    })

    const stream = readStream(introspectionClient(server.address), 'watchRevocations', REQUEST, {
      signal: NEVER
    })
    expect(await stream.next()).toMatchObject({ done: false })
    expect(await rejectionOf(stream.next())).toMatchObject({
      name: 'RpcError',
      code: status.FAILED_PRECONDITION,
      message: 'Enough',
      field: 'request'
    })
  })

  it('ends with an opaque error when its handler fails, even immediately', async () => {
    const { server, lines } = await startWatch(() => {
      throw new Error('private')
    })

    const stream = readStream(introspectionClient(server.address), 'watchRevocations', REQUEST, {
      signal: NEVER
    })
    const error = (await rejectionOf(stream.next())) as RpcError
    expect(error).toMatchObject({ code: status.INTERNAL, message: 'Internal error' })
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })

  it('writes no faster than it is read', async () => {
    const text = 'x'.repeat(10_000)
    let written = 0
    const { server } = await startWatch(async (_, { write, signal }) => {
      while (!signal.aborted) {
        await write(revoked(text))
        written += 1
      }
    })
    const stream = readStream(introspectionClient(server.address), 'watchRevocations', REQUEST, {
      signal: NEVER
    })
    await stream.next()

    // Nobody reads on: after a while the writer stands still.
    let before = -1
    while (written !== before) {
      before = written
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(written).toBeLessThan(1_000)

    // Somebody reads on, and so does the writer.
    while (written < before + 1_000) expect((await stream.next()).done).toBe(false)
    await stream.return()
  })

  it('whose reader leaves is cancelled for its writer, even while it waits', async () => {
    const failure = promiseWithResolvers<unknown>()
    const { server, lines } = await startWatch(async (_, { write }) => {
      try {
        for (;;) await write(revoked('x'.repeat(10_000)))
      } catch (error) {
        failure.resolve(error)
        throw error
      }
    })

    for await (const message of readStream(introspectionClient(server.address), 'watchRevocations', REQUEST, {
      signal: NEVER
    })) {
      expect(grantIdOf(message)).toHaveLength(10_000)
      break
    }

    expect(await failure.promise).toMatchObject({ name: 'RpcError', code: status.CANCELLED })
    await server.stop(1_000)
    expect(lines.map(({ fields }) => fields['code'])).toContain('CANCELLED')
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('can be cancelled by a signal of the reader', async () => {
    const { server, started, reason } = await startIdleWatch()
    const abort = new AbortController()
    const stream = readStream(introspectionClient(server.address), 'watchRevocations', REQUEST, {
      signal: abort.signal
    })
    await stream.next()
    await started
    const next = stream.next()
    abort.abort()

    expect(await rejectionOf(next)).toMatchObject({ name: 'RpcError', code: status.CANCELLED })
    expect(await reason).toMatchObject({ code: status.CANCELLED })
  })

  it('ends when the server stops, so that its reader reconnects', async () => {
    const { server, started, reason, lines } = await startIdleWatch()
    const stream = readStream(introspectionClient(server.address), 'watchRevocations', REQUEST, {
      signal: NEVER
    })
    await stream.next()
    await started
    const next = rejectionOf(stream.next())

    await server.stop(20_000)

    expect(await next).toMatchObject({ name: 'RpcError', code: status.UNAVAILABLE })
    expect(await reason).toMatchObject({ code: status.UNAVAILABLE })
    expect(lines.filter(({ level }) => level !== 'info')).toEqual([])
  })

  it('that falls silent is abandoned, even if its connection is alive', async () => {
    const { server, reason } = await startIdleWatch()
    const client = introspectionClient(server.address)
    const stream = readStream(client, 'watchRevocations', REQUEST, { signal: NEVER, silenceMaxMs: 200 })
    await stream.next()

    expect(await rejectionOf(stream.next())).toMatchObject({
      code: status.UNAVAILABLE,
      message: 'The stream fell silent'
    })
    expect(await reason).toMatchObject({ code: status.CANCELLED })
  })

  it('is not abandoned while messages arrive', async () => {
    const { server } = await startWatch(async (_, { write }) => {
      for (let count = 0; count < 10; count += 1) {
        await write(revoked(String(count)))
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    })
    const client = introspectionClient(server.address)
    const received: string[] = []
    const options = { signal: NEVER, silenceMaxMs: 500 }
    for await (const message of readStream(client, 'watchRevocations', REQUEST, options)) {
      received.push(grantIdOf(message))
    }
    expect(received).toHaveLength(10)
  })

  it('ends with UNAVAILABLE when it is old, so that it is never cut off without a status', async () => {
    const { server, reason } = await startIdleWatch({ connectionAgeMaxMs: 50, connectionGraceMs: 1_000 })
    // Unlike clients of createClient, this one would hold on to the connection.
    const client = closing(new auth.IntrospectionServiceClient(server.address, credentials.createInsecure()))
    const failed = promiseWithResolvers<unknown>()
    client.watchRevocations(REQUEST).on('error', failed.resolve).resume()

    expect(await failed.promise).toMatchObject({
      code: status.UNAVAILABLE,
      details: 'The stream has lasted long enough: call again'
    })
    expect(await reason).toMatchObject({ code: status.UNAVAILABLE })
  })
})
