import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js'
import { status } from '@open-payments-server/grpc-transport'
import type { auth as contract } from '@open-payments-server/proto'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { GrpcFixture } from './support/grpc-fixture.js'
import type { RevocationBus, RevocationListener } from '../src/domain/revocations.js'
import { BACKLOG_LENGTH_MAX } from '../src/grpc/revocation-watch.js'

type Stream = ClientReadableStream<contract.WatchRevocationsResponse>

let auth: GrpcFixture
/** What a test may change about the bus. */
const bus = {
  listeners: new Set<RevocationListener>(),
  beforeLive: (): Promise<void> => Promise.resolve()
}

/** The real bus, whose listeners can be interrupted, and whose subscriptions can be delayed or refused. */
function watched(real: RevocationBus): RevocationBus {
  return {
    publish: (event) => real.publish(event),
    async subscribe(listener) {
      await bus.beforeLive()
      const subscription = await real.subscribe(listener)
      bus.listeners.add(listener)
      return {
        get live() {
          return subscription.live
        },
        async close() {
          bus.listeners.delete(listener)
          await subscription.close()
        }
      }
    }
  }
}

beforeAll(async () => {
  auth = await GrpcFixture.start({ wrapBus: watched })
})
afterAll(() => auth.stop())

async function next(stream: Stream): Promise<contract.WatchRevocationsResponse['event']> {
  const [message] = (await once(stream, 'data')) as [contract.WatchRevocationsResponse]
  return message.event
}

async function codeAtEnd(stream: Stream): Promise<string> {
  stream.resume()
  const [error] = (await once(stream, 'error')) as [ServiceError]
  return status[error.code]
}

async function open(): Promise<Stream> {
  const stream = auth.introspection.watchRevocations({})
  expect(await next(stream)).toEqual({ $case: 'started', value: {} })
  return stream
}

async function allClosed(): Promise<void> {
  while (bus.listeners.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('WatchRevocations', () => {
  it('tells every watcher of revoked tokens and grants, in order', async () => {
    const streams = [await open(), await open()]
    const accessTokenHash = hashSecret('a token')
    const grantId = auth.newId()
    const heard = streams.map(async (stream) => [await next(stream), await next(stream)])
    await auth.bus.publish({ kind: 'token', accessTokenHash })
    await auth.bus.publish({ kind: 'grant', grantId })
    for (const events of await Promise.all(heard)) {
      expect(events).toEqual([
        { $case: 'tokensRevoked', value: { accessTokenHashes: [accessTokenHash] } },
        { $case: 'grantRevoked', value: { grantId } }
      ])
    }
    for (const stream of streams) {
      stream.on('error', () => undefined)
      stream.cancel()
    }
    await allClosed()
  })

  it('tells of tokens that are revoked together in one message', async () => {
    const stream = await open()
    const accessTokenHashes = ['one', 'another', 'a third'].map((token) => hashSecret(token))
    const heard = next(stream)
    await Promise.all(
      accessTokenHashes.map((accessTokenHash) => auth.bus.publish({ kind: 'token', accessTokenHash }))
    )
    expect(await heard).toEqual({ $case: 'tokensRevoked', value: { accessTokenHashes } })
    stream.on('error', () => undefined)
    stream.cancel()
    await allClosed()
  })

  it('is never silent for long', async () => {
    const stream = await open()
    expect(await next(stream)).toEqual({ $case: 'heartbeat', value: {} })
    expect(await next(stream)).toEqual({ $case: 'heartbeat', value: {} })
    stream.on('error', () => undefined)
    stream.cancel()
    await allClosed()
  })

  it('says that it started only once the subscription is live', async () => {
    let goLive: () => void = () => undefined
    const live = new Promise<void>((resolve) => {
      goLive = resolve
    })
    let asked: () => void = () => undefined
    const subscribing = new Promise<void>((resolve) => {
      asked = resolve
    })
    bus.beforeLive = () => {
      asked()
      return live
    }
    const stream = auth.introspection.watchRevocations({})
    let started = false
    const first = next(stream).then(() => {
      started = true
    })
    await subscribing
    await auth.introspect('another call goes through meanwhile')
    expect(started).toBe(false)
    goLive()
    await first
    bus.beforeLive = () => Promise.resolve()
    const ended = codeAtEnd(stream)
    stream.cancel()
    expect(await ended).toBe('CANCELLED')
    await allClosed()
  })

  it('ends with UNAVAILABLE when revocations may have been missed', async () => {
    const stream = await open()
    const ended = codeAtEnd(stream)
    for (const listener of bus.listeners) listener.onInterrupted()
    expect(await ended).toBe('UNAVAILABLE')
    await allClosed()
  })

  it('ends with UNAVAILABLE when it cannot be subscribed', async () => {
    bus.beforeLive = () => Promise.reject(new Error('no Redis'))
    const stream = auth.introspection.watchRevocations({})
    expect(await codeAtEnd(stream)).toBe('UNAVAILABLE')
    bus.beforeLive = () => Promise.resolve()
  })

  it('ends with UNAVAILABLE for a watcher that does not keep up, instead of remembering without end', async () => {
    const stream = await open()
    const ended = codeAtEnd(stream)
    const [listener] = bus.listeners
    // All in one turn of the event loop: nothing can be sent in between.
    for (let count = 0; count <= BACKLOG_LENGTH_MAX; count += 1) {
      listener?.onEvent({ kind: 'grant', grantId: auth.newId() })
    }
    expect(await ended).toBe('UNAVAILABLE')
    await allClosed()
  })

  it('leaves nothing behind when the watcher goes', async () => {
    const stream = await open()
    expect(bus.listeners.size).toBe(1)
    stream.on('error', () => undefined)
    stream.cancel()
    await allClosed()
    expect(bus.listeners.size).toBe(0)
  })
})
