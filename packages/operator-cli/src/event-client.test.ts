import {
  createHandlers,
  type ResponseStream,
  RpcError,
  startGrpcServer,
  status
} from '@open-payments-server/grpc-transport'
import { events, fileDescriptors } from '@open-payments-server/proto'
import { createLogger } from '@open-payments-server/runtime'
import { expect, it } from '@jest/globals'
import { EventClient } from './event-client.js'

const logger = createLogger({ service: 'fake', level: 'silent' })

type Watch = (
  request: events.WatchEventsRequest,
  stream: ResponseStream<events.WatchEventsResponse>
) => Promise<void>

/** Watches a service that answers each stream in turn, until so many events were told or it fails. */
async function watch(streams: readonly Watch[], count: number) {
  const asked: events.WatchEventsRequest[] = []
  const handlers = createHandlers(logger)
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    services: [
      {
        definition: events.EventServiceService,
        implementation: {
          listEvents: handlers.unary(() => Promise.resolve(events.ListEventsResponse.create())),
          watchEvents: handlers.serverStreaming(async (request, stream) => {
            asked.push(request)
            await streams[asked.length - 1]?.(request, stream)
          })
        },
        clients: { everyMethod: [] }
      }
    ],
    reflection: false,
    fileDescriptors,
    logger,
    connectionAgeMaxMs: 60_000,
    messageBytesMax: 1_000_000
  })
  const client = new EventClient(
    () => ({ target: server.address, deadlineMs: 5_000, retriesMax: 0, messageBytesMax: 1_000_000 }),
    () => (error) => {
      throw error
    }
  )
  const told: string[] = []
  try {
    const over = new AbortController()
    for await (const { id } of client.watch('auth-server', over.signal)) {
      told.push(id)
      if (told.length === count) over.abort()
    }
    return { told, asked, error: undefined }
  } catch (error) {
    return { told, asked, error }
  } finally {
    client.close()
    await server.stop(1_000)
  }
}

const away = new RpcError({ code: status.UNAVAILABLE, message: 'the service stops' })
const eventOf = (id: string) => ({
  message: {
    $case: 'event' as const,
    value: events.Event.fromPartial({ id, data: '{}', cursor: `after ${id}` })
  }
})

it('a stream that is cut off goes on after the last cursor', async () => {
  const { told, asked } = await watch(
    [
      async (_, stream) => {
        await stream.write(eventOf('one'))
        throw away
      },
      () => Promise.reject(away),
      async (_, stream) => {
        await stream.write({ message: { $case: 'heartbeat', value: { cursor: 'after two' } } })
        throw away
      },
      (_, stream) => stream.write(eventOf('three'))
    ],
    2
  )
  expect(told).toEqual(['one', 'three'])
  expect(asked).toMatchObject([
    { afterCursor: '', onlyNew: true },
    { afterCursor: 'after one', onlyNew: false },
    { afterCursor: 'after one', onlyNew: false },
    { afterCursor: 'after two', onlyNew: false }
  ])
})

it('a service that cannot be reached at first, or refuses, is an error', async () => {
  expect(await watch([() => Promise.reject(away)], 1)).toMatchObject({
    told: [],
    error: { code: status.UNAVAILABLE }
  })
  const refused = new RpcError({ code: status.INVALID_ARGUMENT, message: 'unknown cursor' })
  const { told, error } = await watch(
    [
      async (_, stream) => {
        await stream.write(eventOf('one'))
        throw away
      },
      () => Promise.reject(refused)
    ],
    2
  )
  expect(told).toEqual(['one'])
  expect(error).toMatchObject({ code: status.INVALID_ARGUMENT })
})
