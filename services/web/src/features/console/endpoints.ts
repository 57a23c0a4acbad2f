import { events } from '@open-payments-server/proto'
import type { Block, Cell, Fact } from '../../pages/console/blocks.js'
import { OperationRefused, SERVICES, type ServiceName } from '../operated.js'
import { PAGE_SIZE } from './payments.js'
import { attemptCell } from './tables.js'
import { NONE, pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

/** How an endpoint stands. */
function endpointState({ t }: Visit, endpoint: events.WebhookEndpoint): Cell {
  if (endpoint.disabledCause !== events.DisabledCause.DISABLED_CAUSE_UNSPECIFIED)
    return { text: t('disabled'), tone: 'bad', remark: t(CAUSES[endpoint.disabledCause] ?? 'cause.operator') }
  if (endpoint.failingSince !== undefined) return { text: t('failing'), tone: 'waiting' }
  return { text: t('active'), tone: 'good' }
}

const CAUSES: Readonly<Record<number, 'cause.operator' | 'cause.gone' | 'cause.failing'>> = {
  [events.DisabledCause.DISABLED_CAUSE_OPERATOR]: 'cause.operator',
  [events.DisabledCause.DISABLED_CAUSE_GONE]: 'cause.gone',
  [events.DisabledCause.DISABLED_CAUSE_FAILING]: 'cause.failing'
}

/** `/endpoints`: where both services post their events, or one. */
export async function listEndpoints(visit: Visit): Promise<Reply> {
  const { t, operated, query } = visit
  const of = query.get('service')
  const services = of === null ? SERVICES : [serviceOf(of)]
  const pageToken = of === null ? '' : (query.get('after') ?? '')
  const pages = await Promise.all(
    services.map((service) =>
      operated.webhooks(service, 'listWebhookEndpoints', { pageSize: PAGE_SIZE, pageToken })
    )
  )
  return {
    title: t('endpoints'),
    section: 'endpoints',
    blocks: services.map((service, place) => endpointTable(visit, service, pages[place]))
  }
}

function endpointTable(
  visit: Visit,
  service: ServiceName,
  page: events.ListWebhookEndpointsResponse | undefined
): Block {
  const { t, show } = visit
  const { nextPageToken = '', endpoints = [] } = page ?? {}
  return {
    kind: 'table',
    title: service,
    empty: t('noEndpoints'),
    next: nextPageToken === '' ? undefined : pathTo('/endpoints', { service, after: nextPageToken }),
    columns: [
      { label: t('url') },
      { label: t('state') },
      { label: t('undelivered'), isNumber: true },
      { label: t('givenUp'), isNumber: true },
      { label: t('eventTypes') },
      { label: t('created') }
    ],
    rows: endpoints.map((endpoint) => [
      { text: endpoint.url, href: `/endpoints/${service}/${endpoint.id}` },
      endpointState(visit, endpoint),
      String(endpoint.undeliveredCount),
      String(endpoint.givenUpCount),
      endpoint.types.length === 0 ? t('all') : endpoint.types.join(', '),
      show.instant(endpoint.createdAt)
    ])
  }
}

/** A service by its name; anything else is nowhere. */
export function serviceOf(name: string): ServiceName {
  const service = SERVICES.find((each) => each === name)
  if (service === undefined) throw new OperationRefused('not-found', name)
  return service
}

/** What is told of an endpoint. */
export function endpointFacts(visit: Visit, endpoint: events.WebhookEndpoint): Fact[] {
  const { t, show } = visit
  return [
    { label: t('state'), value: endpointState(visit, endpoint) },
    ...(endpoint.failingSince === undefined
      ? []
      : [{ label: t('failingSince'), value: show.instant(endpoint.failingSince) }]),
    { label: t('undelivered'), value: String(endpoint.undeliveredCount) },
    { label: t('givenUp'), value: String(endpoint.givenUpCount) },
    { label: t('eventTypes'), value: endpoint.types.length === 0 ? t('all') : endpoint.types.join(', ') },
    { label: t('walletAddress'), value: endpoint.walletAddress === '' ? t('all') : endpoint.walletAddress },
    { label: t('created'), value: show.instant(endpoint.createdAt) }
  ]
}

/** `/endpoints/:service/:id`: an endpoint and its attempts, the newest first. */
export async function showEndpoint(visit: Visit): Promise<Reply> {
  const { t, show, operated, request, query } = visit
  const service = serviceOf(request.param('service'))
  const id = request.param('id')
  const [{ endpoint }, page] = await Promise.all([
    operated.webhooks(service, 'getWebhookEndpoint', { id }),
    operated.webhooks(service, 'listWebhookAttempts', {
      id,
      pageSize: PAGE_SIZE,
      pageToken: query.get('after') ?? ''
    })
  ])
  if (endpoint === undefined) throw new OperationRefused('not-found', id)
  const isDisabled = endpoint.disabledCause !== events.DisabledCause.DISABLED_CAUSE_UNSPECIFIED
  const acts = [isDisabled ? 'enable-endpoint' : 'disable-endpoint', 'replay-endpoint'] as const
  return {
    title: endpoint.url,
    section: 'endpoints',
    blocks: [
      { kind: 'facts', facts: endpointFacts(visit, endpoint) },
      {
        kind: 'acts',
        acts: visit.may('operator')
          ? acts.map((act) => ({
              label: t(`act.${act}`),
              href: pathTo(`/act/${act}`, { subject: `${service} ${id}` })
            }))
          : []
      },
      {
        kind: 'table',
        title: t('deliveries'),
        empty: t('noDeliveries'),
        next:
          page.nextPageToken === ''
            ? undefined
            : pathTo(`/endpoints/${service}/${id}`, { after: page.nextPageToken }),
        columns: [
          { label: t('at') },
          { label: t('event') },
          { label: t('result') },
          { label: t('took'), isNumber: true },
          { label: t('id') }
        ],
        rows: page.attempts.map((attempt) => [
          show.instant(attempt.attemptedAt),
          attempt.eventType,
          attemptCell(attempt),
          `${String(attempt.durationMs)} ms`,
          { text: attempt.eventId === '' ? NONE : attempt.eventId, isCode: true }
        ])
      }
    ]
  }
}
