import { connect } from 'node:http2'
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { describe, expect, it, jest } from '@jest/globals'
import { service as healthService } from 'grpc-health-check'
import { callUnary, status } from '../src/index.js'
import {
  closing,
  limitsClient,
  promiseWithResolvers,
  rejectionOf,
  reserveRequest,
  reserveResponse,
  startServer
} from './fixture.js'

const INTROSPECTION = 'openpayments.auth.v1.IntrospectionService'
const NOTHING = () => ({})

function rawClient(address: string): Client {
  return closing(new Client(address, credentials.createInsecure()))
}

/** Asks the health service about a service of the server; the empty name is the server as a whole. */
function checkHealth(address: string, service: string): Promise<unknown> {
  const { Check } = healthService
  if (Check === undefined) throw new Error('the health service has no Check')
  return new Promise((resolve, reject) => {
    rawClient(address).makeUnaryRequest(
      Check.path,
      Check.requestSerialize,
      Check.responseDeserialize,
      { service },
      (error: ServiceError | null, response?: object) => {
        if (error === null) resolve(response)
        else reject(error)
      }
    )
  })
}

/**
 * Sends one encoded `ServerReflectionRequest` and resolves to the encoded answer. Texts in it can be searched for as they
 * are: Protocol Buffers write them plainly.
 */
function reflect(address: string, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = rawClient(address).makeBidiStreamRequest(
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      (message: Buffer) => message,
      (message) => message.toString('latin1')
    )
    call.on('data', resolve)
    call.on('error', reject)
    call.write(request)
    call.end()
  })
}

/** `ServerReflectionRequest` with one text field. */
function reflectionRequest(fieldNumber: number, text: string): Buffer {
  return Buffer.from([(fieldNumber << 3) | 2, text.length, ...Buffer.from(text)])
}
const LIST_SERVICES = reflectionRequest(7, '*')

describe('health', () => {
  it('of a started server is SERVING, as a whole and for each service', async () => {
    const { server } = await startServer(NOTHING)
    for (const service of ['', INTROSPECTION, 'openpayments.auth.v1.GrantLimitsService']) {
      expect(await checkHealth(server.address, service)).toEqual({ status: 'SERVING' })
    }
  })

  it('follows the reported status', async () => {
    const { server } = await startServer(NOTHING)
    server.setServing(false)
    expect(await checkHealth(server.address, '')).toEqual({ status: 'NOT_SERVING' })
    expect(await checkHealth(server.address, INTROSPECTION)).toEqual({ status: 'NOT_SERVING' })
    server.setServing(true)
    expect(await checkHealth(server.address, '')).toEqual({ status: 'SERVING' })
  })

  it('of an unknown service is an error', async () => {
    const { server } = await startServer(NOTHING)
    expect(await rejectionOf(checkHealth(server.address, 'other.Service'))).toMatchObject({
      code: status.NOT_FOUND
    })
  })

  it('can be watched, until the server stops', async () => {
    const { server } = await startServer(NOTHING)
    const { Watch } = healthService
    if (Watch === undefined) throw new Error('the health service has no Watch')
    const call = rawClient(server.address).makeServerStreamRequest(
      Watch.path,
      Watch.requestSerialize,
      Watch.responseDeserialize,
      { service: '' }
    )
    const seen: unknown[] = []
    const first = promiseWithResolvers()
    const ended = promiseWithResolvers<unknown>()
    call.on('data', (message: unknown) => {
      seen.push(message)
      first.resolve()
    })
    call.on('error', ended.resolve)
    await first.promise

    await server.stop(20_000)

    expect(seen).toEqual([{ status: 'SERVING' }, { status: 'NOT_SERVING' }])
    expect(await ended.promise).toMatchObject({ code: status.UNAVAILABLE })
  })
})

describe('reflection', () => {
  it('lists the services of the server, and only these', async () => {
    const { server } = await startServer(NOTHING, { reflection: true })
    const answer = await reflect(server.address, LIST_SERVICES)
    expect(answer).toContain(INTROSPECTION)
    expect(answer).toContain('openpayments.auth.v1.GrantLimitsService')
    expect(answer).not.toContain('WalletOperatorService')
  })

  it('describes a service with its messages', async () => {
    const { server } = await startServer(NOTHING, { reflection: true })
    const answer = await reflect(server.address, reflectionRequest(4, INTROSPECTION))
    for (const part of [
      'introspection_service.proto',
      'WatchRevocationsResponse',
      'google/protobuf/timestamp.proto'
    ]) {
      expect(answer).toContain(part)
    }
  })

  it('is absent when it is off', async () => {
    const { server } = await startServer(NOTHING)
    expect(await rejectionOf(reflect(server.address, LIST_SERVICES))).toMatchObject({
      code: status.UNIMPLEMENTED
    })
  })
})

describe('a server', () => {
  it('answers UNIMPLEMENTED for what it does not implement', async () => {
    const { server } = await startServer(NOTHING)
    const end = callUnary(limitsClient(server.address), 'end', { ends: [] }, { idempotent: true })
    expect(await rejectionOf(end)).toMatchObject({ code: status.UNIMPLEMENTED })
  })

  it('keeps a handler together with the object it belongs to', async () => {
    const { server } = await startServer(({ unary }) => {
      const answer = unary(function () {
        return Promise.resolve(reserveResponse('own'))
      })
      const limits = {
        answer,
        reserve(this: { answer: typeof answer }, ...call: Parameters<typeof answer>): void {
          this.answer(...call)
        }
      }
      return { limits }
    })
    expect(
      await callUnary(limitsClient(server.address), 'reserve', reserveRequest(), { idempotent: true })
    ).toEqual(reserveResponse('own'))
  })

  it('does not start when it cannot listen', async () => {
    const { server } = await startServer(NOTHING)
    // grpc-js complains on the console too.
    jest.spyOn(console, 'error').mockImplementation(() => undefined)
    await expect(startServer(NOTHING, { port: server.port })).rejects.toThrow('EADDRINUSE')
    jest.mocked(console.error).mockRestore()
  })

  it('finishes running calls before it stops, and accepts no new ones', async () => {
    const started = promiseWithResolvers()
    const release = promiseWithResolvers()
    const { server } = await startServer(({ unary }) => ({
      limits: {
        reserve: unary(async () => {
          started.resolve()
          await release.promise
          return reserveResponse('finished')
        })
      }
    }))
    const running = callUnary(limitsClient(server.address), 'reserve', reserveRequest(), {
      idempotent: false
    })
    await started.promise

    let stopped = false
    const stopping = server.stop(20_000).then(() => {
      stopped = true
    })
    const refused = callUnary(limitsClient(server.address), 'reserve', reserveRequest(), {
      idempotent: false
    })
    expect(await rejectionOf(refused)).toMatchObject({ code: status.UNAVAILABLE })
    expect(stopped).toBe(false)
    release.resolve()

    expect(await running).toEqual(reserveResponse('finished'))
    await stopping
    expect(server.stop(0)).toBe(server.stop(0))
  })

  it('aborts calls that outlast the grace period, and signals their handlers', async () => {
    const started = promiseWithResolvers()
    const aborted = promiseWithResolvers()
    const { server, lines } = await startServer(({ unary }) => ({
      limits: {
        reserve: unary(async (_, { signal }) => {
          signal.addEventListener('abort', () => {
            aborted.resolve()
          })
          started.resolve()
          await aborted.promise
          return reserveResponse()
        })
      }
    }))
    const running = rejectionOf(
      callUnary(limitsClient(server.address, { deadlineMs: 60_000 }), 'reserve', reserveRequest(), {
        idempotent: false
      })
    )
    await started.promise

    await server.stop(50)

    await aborted.promise
    expect(await running).toMatchObject({ name: 'RpcError', code: status.CANCELLED })
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      { level: 'warn', fields: { graceMs: 50 } }
    ])
  })

  it('closes old connections gracefully: calls continue over new ones', async () => {
    const peers = new Set<string>()
    const { server } = await startServer(
      ({ unary }) => ({
        limits: {
          reserve: unary((_, { peer }) => {
            peers.add(peer)
            return Promise.resolve(reserveResponse())
          })
        }
      }),
      { connectionAgeMaxMs: 100 }
    )
    const client = limitsClient(server.address, { retriesMax: 0 })
    while (peers.size < 3) await callUnary(client, 'reserve', reserveRequest(), { idempotent: false })
    expect(peers.size).toBe(3)
  })

  it('cuts off calls that outlast the grace of an old connection', async () => {
    const aborted = promiseWithResolvers<unknown>()
    const { server } = await startServer(
      ({ unary }) => ({
        limits: {
          reserve: unary(async (_, { signal }) => {
            signal.addEventListener('abort', () => {
              aborted.resolve(signal.reason)
            })
            throw await aborted.promise
          })
        }
      }),
      { connectionAgeMaxMs: 50, connectionGraceMs: 50 }
    )
    // Other channels would give the connection up themselves.
    const client = limitsClient(server.address, { callsAreLong: true, retriesMax: 0 })
    const running = rejectionOf(callUnary(client, 'reserve', reserveRequest(), { idempotent: false }))

    // Long before the deadline of the call.
    expect(await aborted.promise).toMatchObject({ code: status.CANCELLED })
    await running
  })

  it('does not close connections that were opened together all at once', async () => {
    const ageMs = 10_000_000
    const { server } = await startServer(NOTHING, { connectionAgeMaxMs: ageMs })
    // The times for which timers are set, because those at which they fire depend on how busy the machine is.
    const timers = jest.spyOn(globalThis, 'setTimeout')
    const sessions = Array.from({ length: 12 }, () => connect(`http://${server.address}`))
    let agesMs: number[] = []
    while (agesMs.length < sessions.length) {
      await new Promise(setImmediate)
      agesMs = timers.mock.calls.map(([, afterMs = 0]) => afterMs).filter((afterMs) => afterMs > ageMs / 2)
    }
    timers.mockRestore()
    for (const session of sessions) session.destroy()
    // grpc-js adds up to a tenth either way: all twelve fall within a fifth of that range once in five million times.
    expect(Math.max(...agesMs) - Math.min(...agesMs)).toBeGreaterThan(ageMs / 25)
  })
})
