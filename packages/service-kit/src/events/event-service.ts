import type { RawQueries } from '@open-payments-server/database'
import {
  type CompleteEvents,
  type EventNews,
  formatCursor,
  listAudits,
  NumberAhead,
  parseCursor,
  readEvents,
  readHistory,
  type ReadEvents,
  readNewestNumber,
  tellEvents,
  TimelineUnknown,
  type ToldEvent
} from '@open-payments-server/events'
import {
  type AllowedClients,
  type CallObserver,
  createHandlers,
  type GrpcService,
  type ResponseStream,
  RpcError,
  status,
  type UnaryContext
} from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { admitOperators, EVENT_ROLES, type Operators } from '../operators/index.js'
import {
  answering,
  cutPage,
  invalidField,
  readEventTypes,
  readPageSize,
  readTextToken,
  unknownPageToken,
  writeTextToken
} from '../grpc/index.js'
import { isUuid } from '@open-payments-server/value-types/identifiers'

/** Maximum number of events of one resource that are listed. */
const SUBJECT_EVENTS_MAX = 100

/** Maximum number of events that one statement reads for a stream. */
const READ_TOGETHER_MAX = 500

/** Maximum silence of a stream, as the contract says, in milliseconds. */
const HEARTBEAT_INTERVAL_MS = 2_000

const RESYNC_CAUSES = {
  events_lost: events.ResyncCause.RESYNC_CAUSE_EVENTS_LOST,
  events_expired: events.ResyncCause.RESYNC_CAUSE_EVENTS_EXPIRED
} as const

/** What telling of events needs. */
export interface EventServiceDependencies {
  /** Name of the service, part of its cursors. */
  readonly service: string
  readonly database: RawQueries
  readonly news: EventNews
  /** All types that the service tells of. */
  readonly types: ReadonlySet<string>
  readonly complete: CompleteEvents
  readonly logger: Logger
  readonly callObserver?: CallObserver | undefined
  /** Who may call when clients present certificates. */
  readonly clients: AllowedClients
  readonly operators: Operators
  /** Names of clients that may read without being operators. */
  readonly readers: readonly string[]
}

/** `EventService`: the same in every service, over its own events. */
export function createEventService(dependencies: EventServiceDependencies): GrpcService {
  const { logger, callObserver, operators, readers } = dependencies
  const service = { definition: events.EventServiceService, roles: EVENT_ROLES, readers }
  const handlers = admitOperators(createHandlers(logger, callObserver), service, { ...operators, logger })
  const answer = answering(rpcErrorOf)
  const implementation: events.EventServiceServer = {
    listEvents: handlers.unary(
      answer((request: events.ListEventsRequest, { signal }: UnaryContext) =>
        listEvents(request, signal, dependencies)
      )
    ),
    listSubjectEvents: handlers.unary(
      answer((request: events.ListSubjectEventsRequest) => listSubjectEvents(request, dependencies))
    ),
    listAudits: handlers.unary(
      answer((request: events.ListAuditsRequest) => listAuditEvents(request, dependencies))
    ),
    watchEvents: handlers.serverStreaming(
      answer((request: events.WatchEventsRequest, stream: ResponseStream<events.WatchEventsResponse>) =>
        watchEvents(request, stream, dependencies)
      )
    )
  }
  return { definition: events.EventServiceService, implementation, clients: dependencies.clients }
}

async function listEvents(
  request: events.ListEventsRequest,
  signal: AbortSignal,
  dependencies: EventServiceDependencies
): Promise<events.ListEventsResponse> {
  const { service, database, complete } = dependencies
  const afterNumber = readCursor(request.afterCursor, service)
  const types = readEventTypes(request.types, 'types', dependencies.types)
  const countMax = readPageSize(request.pageSize)
  const first = await readEvents(database, { afterNumber, types, countMax })
  const found = [...first.events]
  let { more, toNumber } = first
  while (more && found.length < countMax && !signal.aborted) {
    const next = await readEvents(database, {
      afterNumber: toNumber,
      types,
      countMax: countMax - found.length
    })
    found.push(...next.events)
    ;({ more, toNumber } = next)
  }
  return {
    events: (await tellEvents(found, complete)).map((event) => eventMessage(event, service)),
    cursor: formatCursor(service, toNumber),
    resyncCause: causeMessage(first)
  }
}

async function listSubjectEvents(
  { subjectId, pageSize: size }: events.ListSubjectEventsRequest,
  { service, database, complete }: EventServiceDependencies
): Promise<events.ListSubjectEventsResponse> {
  if (!isUuid(subjectId)) throw invalidField('subject_id', 'must be a lower-case UUID')
  const countMax = readPageSize(size, SUBJECT_EVENTS_MAX)
  const found = await readHistory(database, { subjectId, countMax })
  const told = await tellEvents(found, complete)
  return { events: told.map((event) => eventMessage(event, service)).reverse() }
}

async function listAuditEvents(
  { pageSize: size, pageToken }: events.ListAuditsRequest,
  { service, database, complete }: EventServiceDependencies
): Promise<events.ListAuditsResponse> {
  const pageSize = readPageSize(size)
  const before = readTextToken(pageToken)
  if (!/^\d{0,18}$/.test(before)) throw unknownPageToken()
  const beforeNumber = before === '' ? undefined : BigInt(before)
  const found = await listAudits(database, { beforeNumber, countMax: pageSize + 1 })
  const told = await tellEvents(found, complete)
  const { items, nextPageToken } = cutPage(told, pageSize, ({ number }) => writeTextToken(number.toString()))
  return { events: items.map((event) => eventMessage(event, service)), nextPageToken }
}

async function watchEvents(
  request: events.WatchEventsRequest,
  stream: ResponseStream<events.WatchEventsResponse>,
  dependencies: EventServiceDependencies
): Promise<void> {
  const { service, database, news, complete } = dependencies
  const types = readEventTypes(request.types, 'types', dependencies.types)
  let afterNumber = readCursor(request.afterCursor, service)
  if (request.onlyNew) {
    if (afterNumber !== undefined) throw invalidField('only_new', 'must not be set with after_cursor')
    afterNumber = await readNewestNumber(database)
  }
  let saidAtMs = -Infinity
  const say = async (message: events.WatchEventsResponse['message']): Promise<void> => {
    await stream.write({ message })
    saidAtMs = performance.now()
  }
  // Not `AbortSignal.any`: on Node 20, a signal keeps a trace of each that was made from it, and a stream may last for months.
  let waiting = new AbortController()
  const endWait = (): void => {
    waiting.abort()
  }
  stream.signal.addEventListener('abort', endWait, { once: true })
  while (!stream.signal.aborted) {
    waiting = new AbortController()
    // Begun before reading, so that what is published meanwhile ends the wait.
    const published = news.next(waiting.signal)
    const read = await readEvents(database, { afterNumber, types, countMax: READ_TOGETHER_MAX })
    afterNumber = read.toNumber
    if (read.resync !== undefined) {
      const cursor = formatCursor(service, read.fromNumber)
      await say({ $case: 'resync', value: { cause: causeMessage(read), cursor } })
    }
    for (const event of await tellEvents(read.events, complete))
      await say({ $case: 'event', value: eventMessage(event, service) })
    if (performance.now() - saidAtMs >= HEARTBEAT_INTERVAL_MS)
      await say({ $case: 'heartbeat', value: { cursor: formatCursor(service, afterNumber) } })
    if (read.more) endWait()
    await published
  }
}

function readCursor(text: string, service: string): bigint | undefined {
  if (text === '') return undefined
  const number = parseCursor(service, text)
  if (number === undefined) throw unknownCursor()
  return number
}

function rpcErrorOf(error: unknown): RpcError | undefined {
  if (error instanceof NumberAhead) return unknownCursor()
  if (error instanceof TimelineUnknown)
    return new RpcError({ code: status.UNAVAILABLE, message: 'Service unavailable', cause: error })
  return undefined
}

function unknownCursor(): RpcError {
  return invalidField('after_cursor', 'must be a cursor that this service gave')
}

function eventMessage(event: ToldEvent, service: string): events.Event {
  return {
    id: event.id,
    type: event.type,
    time: new Date(event.occurredAtMs),
    subject: event.subject,
    sequence: event.number,
    data: JSON.stringify(event.data),
    cursor: formatCursor(service, event.number),
    traceparent: event.traceParent ?? ''
  }
}

function causeMessage({ resync }: ReadEvents): events.ResyncCause {
  return resync === undefined ? events.ResyncCause.RESYNC_CAUSE_UNSPECIFIED : RESYNC_CAUSES[resync]
}
