import { compressionAlgorithms, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { auth } from '@open-payments-server/proto'
import { describe, expect, it } from '@jest/globals'
import { callUnary, RpcError, status, type UnaryContext, type UnaryHandler } from '../src/index.js'
import {
  closing,
  limitsClient,
  promiseWithResolvers,
  rejectionOf,
  reserveRequest,
  reserveResponse,
  startServer
} from './fixture.js'

type Reserve = UnaryHandler<auth.ReserveRequest, auth.ReserveResponse>

const METHOD = '/openpayments.auth.v1.GrantLimitsService/Reserve'

function startReserve(reserve: Reserve) {
  return startServer(({ unary }) => ({ limits: { reserve: unary(reserve) } }))
}

describe('a unary call', () => {
  it('is answered, and its handler gets the deadline, method and caller', async () => {
    const contexts: UnaryContext[] = []
    const { server, lines } = await startReserve((request, context) => {
      contexts.push(context)
      return Promise.resolve(reserveResponse(`for ${String(request.reservations[0]?.paymentId)}`))
    })
    const deadline = new Date(Date.now() + 4_000)

    const metadata = new Metadata()
    metadata.set('trace', 'abc')
    const response = await callUnary(limitsClient(server.address), 'reserve', reserveRequest('p1'), {
      deadline,
      metadata,
      idempotent: false
    })

    expect(response).toEqual(reserveResponse('for p1'))
    expect(contexts).toHaveLength(1)
    const [context] = contexts
    expect(context?.method).toBe(METHOD)
    expect(context?.peer).toMatch(/^127\.0\.0\.1:\d+$/)
    expect(context?.metadata.get('trace')).toEqual(['abc'])
    expect(Math.abs((context?.deadline.getTime() ?? 0) - deadline.getTime())).toBeLessThan(1_000)
    expect(context?.signal).toBeInstanceOf(AbortSignal)
    expect(lines.filter(({ fields }) => fields['method'] === METHOD)).toEqual([
      { level: 'info', fields: { method: METHOD, code: 'OK', durationMs: expect.any(Number) } }
    ])
  })

  it('without a deadline is refused, and its handler does not run', async () => {
    let calls = 0
    const { server } = await startReserve(() => {
      calls += 1
      return Promise.resolve(reserveResponse())
    })
    const client = limitsClient(server.address)

    const error = await new Promise<ServiceError | null>((resolve) => {
      client.reserve(reserveRequest(), resolve)
    })

    expect(error).toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'The call has no deadline: set one'
    })
    expect(calls).toBe(0)
  })

  it('fails at its deadline, and its handler is aborted', async () => {
    const aborted = promiseWithResolvers<unknown>()
    let calls = 0
    const { server, lines } = await startReserve(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          calls += 1
          signal.addEventListener('abort', () => {
            aborted.resolve(signal.reason)
            reject(new Error('gave up'))
          })
        })
    )

    // On a busy machine a call may end before it has arrived.
    while (calls === 0) {
      const options = { deadlineMs: 100, idempotent: true }
      const error = await rejectionOf(
        callUnary(limitsClient(server.address), 'reserve', reserveRequest(), options)
      )
      expect(error).toBeInstanceOf(RpcError)
      expect(error).toMatchObject({ code: status.DEADLINE_EXCEEDED, message: 'Deadline exceeded' })
    }
    // The client may hang up a moment before the server's own clock strikes.
    const codes = [status.DEADLINE_EXCEEDED, status.CANCELLED]
    expect(codes).toContain(((await aborted.promise) as RpcError).code)
    await server.stop(1_000)
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('cancelled by its caller is cancelled on the server too', async () => {
    const started = promiseWithResolvers()
    const aborted = promiseWithResolvers<unknown>()
    const { server } = await startReserve(async (_, { signal }) => {
      signal.addEventListener('abort', () => {
        aborted.resolve(signal.reason)
      })
      started.resolve()
      await aborted.promise
      return reserveResponse()
    })
    const abort = new AbortController()
    const call = callUnary(limitsClient(server.address), 'reserve', reserveRequest(), {
      idempotent: true,
      signal: abort.signal
    })

    await started.promise
    abort.abort()

    expect(await rejectionOf(call)).toMatchObject({ code: status.CANCELLED, message: 'Call cancelled' })
    expect(await aborted.promise).toMatchObject({ code: status.CANCELLED })
  })

  it('that was aborted beforehand is not sent', async () => {
    let calls = 0
    const { server } = await startReserve(() => {
      calls += 1
      return Promise.resolve(reserveResponse())
    })
    const client = limitsClient(server.address)

    const options = { idempotent: true, signal: AbortSignal.abort() }
    expect(await rejectionOf(callUnary(client, 'reserve', reserveRequest(), options))).toMatchObject({
      code: status.CANCELLED
    })
    await callUnary(client, 'reserve', reserveRequest(), { idempotent: true })
    expect(calls).toBe(1)
  })
})

describe('an error of a handler', () => {
  it('reaches the caller with its code, message and field, and without its cause', async () => {
    const { server, lines } = await startReserve(() => {
      throw new RpcError({
        code: status.INVALID_ARGUMENT,
        message: 'Must be a UUID – not “p1”',
        field: 'payment_id',
        cause: new Error('private')
      })
    })

    const error = await rejectionOf(
      callUnary(limitsClient(server.address), 'reserve', reserveRequest(), { idempotent: true })
    )

    expect(error).toBeInstanceOf(RpcError)
    expect(error).toMatchObject({
      code: status.INVALID_ARGUMENT,
      message: 'Must be a UUID – not “p1”',
      field: 'payment_id'
    })
    expect(JSON.stringify((error as RpcError).cause)).not.toContain('private')
    expect(lines.filter(({ fields }) => fields['method'] === METHOD)).toEqual([
      {
        level: 'warn',
        fields: expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          err: expect.objectContaining({ message: 'private' })
        })
      }
    ])
  })

  it('has a field only if it is about one', async () => {
    const { server } = await startReserve(() => {
      throw new RpcError({ code: status.NOT_FOUND, message: 'No such payment' })
    })

    expect(
      await rejectionOf(
        callUnary(limitsClient(server.address), 'reserve', reserveRequest(), { idempotent: true })
      )
    ).toMatchObject({ code: status.NOT_FOUND, message: 'No such payment', field: undefined })
  })

  it.each([
    ['an exception', new Error('hunter2'), expect.objectContaining({ type: 'Error', message: 'hunter2' })],
    ['a thrown text', 'hunter2', 'hunter2']
  ])('that nobody foresaw (%s) is opaque to the caller and in the log', async (_, thrown, told) => {
    const { server, lines } = await startReserve(() => {
      throw thrown
    })

    const error = (await rejectionOf(
      callUnary(limitsClient(server.address), 'reserve', reserveRequest(), { idempotent: true })
    )) as RpcError

    expect(error).toMatchObject({ code: status.INTERNAL, message: 'Internal error', field: undefined })
    expect((error.cause as ServiceError).details).toBe('Internal error')
    expect(lines.filter(({ level }) => level === 'error')).toEqual([
      { level: 'error', fields: expect.objectContaining({ method: METHOD, code: 'INTERNAL', err: told }) }
    ])
  })

  it('with an unencodable message still reaches the caller', async () => {
    const { server } = await startReserve(() => {
      throw new RpcError({ code: status.NOT_FOUND, message: `half a character \ud83d${'.'.repeat(100_000)}` })
    })

    const error = (await rejectionOf(
      callUnary(limitsClient(server.address), 'reserve', reserveRequest(), { idempotent: true })
    )) as RpcError

    expect(error.code).toBe(status.NOT_FOUND)
    expect(error.message).toMatch(/^half a character \ufffd\.+$/)
    expect(error.message).toHaveLength(1_000)
  })

  it('must name its field in an encodable form', () => {
    for (const field of ['', 'bétrag', 'two\nlines', ' padded ']) {
      expect(() => new RpcError({ code: status.INVALID_ARGUMENT, message: 'Wrong', field })).toThrow(
        RangeError
      )
    }
  })
})

describe('a message', () => {
  const large = reserveRequest('x'.repeat(70_000))

  it('over the limit is refused by the server, before its handler runs, and the calls beside it go on', async () => {
    const seen: string[] = []
    const { server } = await startReserve(({ reservations }) => {
      const paymentId = String(reservations[0]?.paymentId)
      seen.push(paymentId)
      return Promise.resolve(reserveResponse(paymentId))
    })
    const client = limitsClient(server.address, { messageBytesMax: 1_000_000 })
    const small = (paymentId: string): Promise<unknown> =>
      callUnary(client, 'reserve', reserveRequest(paymentId), { idempotent: false })

    const [before, error] = await Promise.all([
      small('before'),
      rejectionOf(callUnary(client, 'reserve', large, { idempotent: false }))
    ])

    expect(error).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
    expect([before, await small('after')]).toEqual([reserveResponse('before'), reserveResponse('after')])
    expect(seen).toEqual(['before', 'after'])
  })

  it('that exceeds the limit only when decompressed is refused too', async () => {
    const { server } = await startReserve(() => Promise.resolve(reserveResponse()))
    const packing = closing(
      new auth.GrantLimitsServiceClient(server.address, credentials.createInsecure(), {
        'grpc.default_compression_algorithm': compressionAlgorithms.gzip
      })
    )
    const error = await new Promise((resolve) => {
      packing.reserve(large, new Metadata(), { deadline: Date.now() + 5_000 }, resolve)
    })
    expect(error).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  })
})
