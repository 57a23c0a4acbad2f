import { randomUUID } from 'node:crypto'
import type { RawQueries } from '@open-payments-server/database'
import {
  type AllowedClients,
  type CallObserver,
  createHandlers,
  type GrpcService,
  RpcError,
  status
} from '@open-payments-server/grpc-transport'
import { endpointProblem, OutgoingRequestError } from '@open-payments-server/http-client'
import { events } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { SecretBox } from '@open-payments-server/runtime/secret-box'
import type { Clock } from '@open-payments-server/value-types/clock'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import {
  attemptDelivery,
  countAwaitingEndpoints,
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  type DisabledCause,
  drawSecret,
  findEndpoint,
  isSecret,
  listAttempts,
  listAttemptsOfEvents,
  listEndpoints,
  replay,
  rotateSecret,
  updateEndpoint,
  type WebhookAttempt,
  type WebhookEndpoint
} from '@open-payments-server/webhooks'
import {
  answering,
  cutPage,
  invalidField,
  readEventTypes,
  readInstant,
  readPageSize,
  readPageToken,
  readTextToken,
  unknownPageToken,
  writePageToken,
  writeTextToken
} from '../grpc/index.js'
import {
  type Act,
  type Acting,
  admitOperators,
  type OperatorActs,
  type OperatorHandlers,
  type Operators,
  WEBHOOK_ROLES
} from '../operators/index.js'
import type { Webhooks } from './open-webhooks.js'

/** Maximum length of the URL of a wallet address, in characters. */
const WALLET_ADDRESS_LENGTH_MAX = 2_048
/** Maximum number of events whose attempts are listed, and of these attempts. */
const [EVENTS_MAX, EVENT_ATTEMPTS_MAX] = [100, 1_000] as const
/** Type of the event that tests an endpoint. */
const TEST_TYPE = 'webhook.test'

/** What operating endpoints needs. */
export interface WebhookServiceDependencies extends Webhooks {
  readonly database: RawQueries
  /** All types that the service tells of. */
  readonly types: ReadonlySet<string>
  readonly clock: Clock
  readonly logger: Logger
  readonly callObserver?: CallObserver | undefined
  /** Who may call when clients present certificates. */
  readonly clients: AllowedClients
  readonly operators: Operators
  /** Records what operators do. */
  readonly acts: OperatorActs<WebhookActing>
}

/** What an act needs anew: its transaction, and to tell of itself. */
export interface WebhookActing extends Acting {
  readonly database: RawQueries
}

/** `WebhookService`: the same in every service, for its own endpoints. */
export function createWebhookService(dependencies: WebhookServiceDependencies): GrpcService {
  const { logger, callObserver, operators } = dependencies
  const service = { definition: events.WebhookServiceService, roles: WEBHOOK_ROLES }
  const handlers = admitOperators(createHandlers(logger, callObserver), service, { ...operators, logger })
  const answer = answering(() => undefined)
  const implementation: events.WebhookServiceServer = {
    ...recordedActs(dependencies, handlers, answer),
    listWebhookEndpoints: handlers.unary(
      answer((request: events.ListWebhookEndpointsRequest) => list(request, dependencies))
    ),
    countWebhookEndpoints: handlers.unary(answer(() => countAwaitingEndpoints(dependencies.database))),
    getWebhookEndpoint: handlers.unary(
      answer((request: events.GetWebhookEndpointRequest) => get(request, dependencies))
    ),
    listWebhookAttempts: handlers.unary(
      answer((request: events.ListWebhookAttemptsRequest) => attempts(request, dependencies))
    ),
    listEventAttempts: handlers.unary(
      answer((request: events.ListEventAttemptsRequest) => eventAttempts(request, dependencies))
    )
  }
  return { definition: events.WebhookServiceService, implementation, clients: dependencies.clients }
}

/** The calls that change something. */
function recordedActs(
  dependencies: WebhookServiceDependencies,
  handlers: OperatorHandlers,
  answer: ReturnType<typeof answering>
) {
  const { acts } = dependencies
  const definition = events.WebhookServiceService
  const within =
    <Request, Response>(
      rpc: (request: Request, dependencies: WebhookServiceDependencies & Acting) => Promise<Response>
    ) =>
    ({ database, onUnchanged }: WebhookActing) =>
    (request: Request) =>
      rpc(request, { ...dependencies, database, onUnchanged })
  const look = async ({ id }: { readonly id: string }, { database }: WebhookActing) =>
    found(id, { ...dependencies, database })
  const known = { subject: ({ id }: { readonly id: string }) => endpointSubject(id), look }
  const creating: Act<
    events.CreateWebhookEndpointRequest,
    events.CreateWebhookEndpointResponse,
    WebhookActing
  > = {
    subject: (_request, response) => endpointSubject(response?.endpoint?.id ?? ''),
    made: ({ endpoint }) => endpoint,
    prepare: ({ url }) => checkUrl(url, dependencies),
    secrets: ['secret'],
    holdsSecret: true
  }
  const updating = {
    ...known,
    replaces: ({ url, eventTypes, walletAddress, enable }: events.UpdateWebhookEndpointRequest) => [
      ...(url === undefined ? [] : ['url']),
      ...(eventTypes === undefined ? [] : ['types']),
      ...(walletAddress === undefined ? [] : ['walletAddress']),
      ...(enable ? ['disabledCause', 'disabledAt'] : [])
    ],
    prepare: async ({ url }: events.UpdateWebhookEndpointRequest) => {
      if (url !== undefined) await checkUrl(url, dependencies)
    }
  }
  const rotating = { subject: known.subject, secrets: ['secret'] as const, holdsSecret: true as const }
  const testing = { subject: known.subject, inSteps: true as const }
  return {
    createWebhookEndpoint: handlers.unary(
      answer(acts.unary(definition.createWebhookEndpoint, creating, within(create)))
    ),
    updateWebhookEndpoint: handlers.unary(
      answer(acts.unary(definition.updateWebhookEndpoint, updating, within(update)))
    ),
    disableWebhookEndpoint: handlers.unary(
      answer(acts.unary(definition.disableWebhookEndpoint, known, within(disable)))
    ),
    deleteWebhookEndpoint: handlers.unary(
      answer(acts.unary(definition.deleteWebhookEndpoint, known, within(remove)))
    ),
    rotateWebhookSecret: handlers.unary(
      answer(acts.unary(definition.rotateWebhookSecret, rotating, within(rotate)))
    ),
    testWebhookEndpoint: handlers.unary(
      answer(acts.unary(definition.testWebhookEndpoint, testing, within(test)))
    ),
    replayWebhooks: handlers.unary(
      answer(acts.unary(definition.replayWebhooks, { subject: known.subject }, within(replayRpc)))
    )
  }
}

function endpointSubject(id: string) {
  return { kind: 'webhook-endpoint', name: id } as const
}

async function create(
  request: events.CreateWebhookEndpointRequest,
  dependencies: WebhookServiceDependencies
): Promise<events.CreateWebhookEndpointResponse> {
  const { database, clock } = dependencies
  const secrets = boxOf(dependencies)
  const secret = readSecret(request.secret)
  const types = readEventTypes(request.types, 'types', dependencies.types)
  const walletAddress = readWalletAddress(request.walletAddress)
  const id = randomUUID()
  const sealedSecret = await secrets.seal(id, secret)
  await createEndpoint(database, { id, url: request.url, types, walletAddress, sealedSecret }, clock.now())
  return { endpoint: await found(id, dependencies), secret }
}

async function list(
  { pageSize, pageToken }: events.ListWebhookEndpointsRequest,
  { database }: WebhookServiceDependencies
): Promise<events.ListWebhookEndpointsResponse> {
  const size = readPageSize(pageSize)
  const endpoints = await listEndpoints(database, { after: readPageToken(pageToken), countMax: size + 1 })
  const { items, nextPageToken } = cutPage(endpoints, size, writePageToken)
  return { endpoints: items.map(endpointMessage), nextPageToken }
}

async function get(
  { id }: events.GetWebhookEndpointRequest,
  dependencies: WebhookServiceDependencies
): Promise<events.GetWebhookEndpointResponse> {
  return { endpoint: await found(id, dependencies) }
}

async function update(
  request: events.UpdateWebhookEndpointRequest,
  dependencies: WebhookServiceDependencies & Acting
): Promise<events.UpdateWebhookEndpointResponse> {
  const { id, url, eventTypes, walletAddress, enable } = request
  await found(id, dependencies)
  const types = eventTypes && readEventTypes(eventTypes.types, 'event_types.types', dependencies.types)
  const wallet = walletAddress === undefined ? undefined : (readWalletAddress(walletAddress) ?? null)
  const change = { url, types, walletAddress: wallet, enable }
  if (!(await updateEndpoint(dependencies.database, id, change))) dependencies.onUnchanged()
  return { endpoint: await found(id, dependencies) }
}

async function disable(
  { id }: events.DisableWebhookEndpointRequest,
  dependencies: WebhookServiceDependencies & Acting
): Promise<events.DisableWebhookEndpointResponse> {
  const { database, clock, onUnchanged } = dependencies
  if (!isUuid(id)) throw noEndpoint()
  if (!(await disableEndpoint(database, id, clock.now()))) onUnchanged()
  return { endpoint: await found(id, dependencies) }
}

async function remove(
  { id }: events.DeleteWebhookEndpointRequest,
  { database }: WebhookServiceDependencies
): Promise<events.DeleteWebhookEndpointResponse> {
  if (!isUuid(id) || !(await deleteEndpoint(database, id))) throw noEndpoint()
  return {}
}

async function rotate(
  request: events.RotateWebhookSecretRequest,
  dependencies: WebhookServiceDependencies
): Promise<events.RotateWebhookSecretResponse> {
  const { database, clock } = dependencies
  const secrets = boxOf(dependencies)
  const secret = readSecret(request.secret)
  if (!isUuid(request.id)) throw noEndpoint()
  const sealed = await secrets.seal(request.id, secret)
  if (!(await rotateSecret(database, request.id, sealed, clock.now()))) throw noEndpoint()
  return { secret }
}

async function test(
  { id }: events.TestWebhookEndpointRequest,
  dependencies: WebhookServiceDependencies
): Promise<events.TestWebhookEndpointResponse> {
  const { database, client, clock } = dependencies
  const box = boxOf(dependencies)
  const known = isUuid(id) ? await findEndpoint(database, id, clock.now()) : undefined
  if (known === undefined) throw noEndpoint()
  const secrets = await Promise.all(known.sealedSecrets.map((sealed) => box.open(id, sealed)))
  const content = {
    id: randomUUID(),
    type: TEST_TYPE,
    occurredAtMs: clock.now(),
    subject: `urn:uuid:${id}`,
    number: 0n,
    traceParent: undefined,
    data: { id }
  }
  const { attempt } = await attemptDelivery(
    content,
    { url: known.endpoint.url, secrets },
    { client, now: () => clock.now() }
  )
  return { attempt: attemptMessage(attempt) }
}

async function attempts(
  { id, pageSize, pageToken }: events.ListWebhookAttemptsRequest,
  dependencies: WebhookServiceDependencies
): Promise<events.ListWebhookAttemptsResponse> {
  const size = readPageSize(pageSize)
  const token = readTextToken(pageToken)
  if (!/^\d{0,18}$/.test(token)) throw unknownPageToken()
  await found(id, dependencies)
  const beforePlace = token === '' ? undefined : BigInt(token)
  const listed = await listAttempts(dependencies.database, id, { beforePlace, countMax: size + 1 })
  const { items, nextPageToken } = cutPage(listed, size, ({ place }) => writeTextToken(place.toString()))
  return { attempts: items.map(attemptMessage), nextPageToken }
}

async function eventAttempts(
  { eventIds }: events.ListEventAttemptsRequest,
  { database }: WebhookServiceDependencies
): Promise<events.ListEventAttemptsResponse> {
  if (eventIds.length > EVENTS_MAX) throw invalidField('event_ids', `must be at most ${String(EVENTS_MAX)}`)
  eventIds.forEach((id, index) => {
    if (!isUuid(id)) throw invalidField(`event_ids[${String(index)}]`, 'must be a lower-case UUID')
  })
  const found = await listAttemptsOfEvents(database, eventIds, EVENT_ATTEMPTS_MAX)
  return {
    attempts: found.map(({ endpointId, url, ...attempt }) => ({
      attempt: attemptMessage(attempt),
      endpointId,
      url
    }))
  }
}

async function replayRpc(
  { id, after }: events.ReplayWebhooksRequest,
  { database }: WebhookServiceDependencies
): Promise<events.ReplayWebhooksResponse> {
  const afterMs = readInstant(after, 'after')
  const eventCount = isUuid(id) ? await replay(database, id, afterMs) : undefined
  if (eventCount === undefined) throw noEndpoint()
  return { eventCount: BigInt(eventCount) }
}

async function found(
  id: string,
  { database, clock }: Pick<WebhookServiceDependencies, 'database' | 'clock'>
): Promise<events.WebhookEndpoint> {
  const known = isUuid(id) ? await findEndpoint(database, id, clock.now()) : undefined
  if (known === undefined) throw noEndpoint()
  return endpointMessage(known.endpoint)
}

function boxOf({ secrets }: Pick<WebhookServiceDependencies, 'secrets'>): SecretBox {
  if (secrets !== undefined) return secrets
  throw new RpcError({
    code: status.FAILED_PRECONDITION,
    message: 'The service has no WEBHOOK_SECRET_KEY, with which secrets of endpoints are encrypted'
  })
}

async function checkUrl(url: string, { client }: Pick<WebhookServiceDependencies, 'client'>): Promise<void> {
  try {
    await client.check(url)
  } catch (error) {
    if (!(error instanceof OutgoingRequestError)) throw error
    throw invalidField('url', endpointProblem(error, 'WEBHOOK_PRIVATE_NETWORKS'))
  }
}

function readSecret(secret: string): string {
  if (secret === '') return drawSecret()
  if (!isSecret(secret)) throw invalidField('secret', 'must be "whsec_" and 24 to 64 bytes in base64')
  return secret
}

function readWalletAddress(text: string): string | undefined {
  if (text === '') return undefined
  if (text.length > WALLET_ADDRESS_LENGTH_MAX || !/^https?:\/\//.test(text) || !URL.canParse(text))
    throw invalidField('wallet_address', 'must be the URL of a wallet address')
  return text
}

function noEndpoint(): RpcError {
  return new RpcError({ code: status.NOT_FOUND, message: 'There is no such webhook endpoint', field: 'id' })
}

const CAUSES: Readonly<Record<DisabledCause, events.DisabledCause>> = {
  operator: events.DisabledCause.DISABLED_CAUSE_OPERATOR,
  gone: events.DisabledCause.DISABLED_CAUSE_GONE,
  failing: events.DisabledCause.DISABLED_CAUSE_FAILING
}

function endpointMessage(endpoint: WebhookEndpoint): events.WebhookEndpoint {
  const { disabled, failingSinceMs } = endpoint
  return {
    id: endpoint.id,
    url: endpoint.url,
    types: [...endpoint.types],
    walletAddress: endpoint.walletAddress ?? '',
    createdAt: new Date(endpoint.createdAtMs),
    disabledCause:
      disabled === undefined ? events.DisabledCause.DISABLED_CAUSE_UNSPECIFIED : CAUSES[disabled.cause],
    disabledAt: disabled && new Date(disabled.atMs),
    failingSince: failingSinceMs === undefined ? undefined : new Date(failingSinceMs),
    undeliveredCount: endpoint.undeliveredCount,
    givenUpCount: endpoint.givenUpCount
  }
}

function attemptMessage(attempt: WebhookAttempt): events.WebhookAttempt {
  return {
    eventId: attempt.eventId,
    eventType: attempt.eventType,
    attemptedAt: new Date(attempt.attemptedAtMs),
    durationMs: attempt.durationMs,
    status: attempt.status ?? 0,
    failure: attempt.failure ?? ''
  }
}
