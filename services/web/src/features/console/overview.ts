import { events, type wallet } from '@open-payments-server/proto'
import type { Block } from '../../pages/console/blocks.js'
import { OperationRefused, SERVICES } from '../operated.js'
import { findAccount, findWalletAddress } from './accounts.js'
import { readAmount, readId, readSpan } from './find.js'
import { liquidityOf } from './peers.js'
import { pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

/** Maximum number of things of a kind that are counted. */
const COUNTED_MAX = 100
/** Number of peers whose packets are asked for: one call each. */
const PEERS_ASKED = 20

/** `/`: what awaits an operator, payments by the hour, and liquidity. */
export async function showOverview(visit: Visit): Promise<Reply> {
  const { t, operated } = visit
  const [awaiting, lost, { peers }, { hours }, endpoints] = await Promise.all([
    operated.wallets('listAwaitingPayments', { pageSize: COUNTED_MAX, pageToken: '' }),
    operated.wallets('listLostPayments', { pageSize: COUNTED_MAX, pageToken: '' }),
    operated.peers('listPeers', { pageSize: COUNTED_MAX, pageToken: '' }),
    operated.wallets('countPayments', { hours: 24 }),
    Promise.all(
      SERVICES.map((service) =>
        operated.webhooks(
          service,
          'listWebhookEndpoints',
          events.ListWebhookEndpointsRequest.fromPartial({ pageSize: COUNTED_MAX })
        )
      )
    )
  ])
  const packets = await Promise.all(
    peers
      .slice(0, PEERS_ASKED)
      .map(({ name }) => operated.peers('listUnknownPackets', { name, pageSize: COUNTED_MAX, pageToken: '' }))
  )
  const all = endpoints.flatMap((page) => page.endpoints)
  const isDisabled = ({ disabledCause }: events.WebhookEndpoint): boolean =>
    disabledCause !== events.DisabledCause.DISABLED_CAUSE_UNSPECIFIED
  const meters = peers.map((peer) => liquidityOf(visit, peer))
  const matters = [
    [t('matter.awaiting'), awaiting.payments.length, '/approvals'],
    [t('matter.lost'), lost.payments.length, undefined],
    [t('matter.packets'), packets.reduce((sum, page) => sum + page.packets.length, 0), '/peers'],
    [t('matter.peersLow'), meters.filter(({ tone }) => tone !== undefined).length, '/peers'],
    [t('matter.peersHigh'), peers.filter(isOwedMuch).length, '/peers'],
    [t('matter.disabled'), all.filter(isDisabled).length, '/endpoints'],
    [
      t('matter.failing'),
      all.filter((endpoint) => !isDisabled(endpoint) && endpoint.failingSince !== undefined).length,
      '/endpoints'
    ]
  ] as const
  return {
    title: t('overview'),
    section: 'overview',
    blocks: [
      {
        kind: 'table',
        title: t('awaitsYou'),
        isNarrow: true,
        empty: '',
        columns: [{ label: t('what') }, { label: t('number'), isNumber: true }],
        rows: matters.map(([what, count, href]) => [
          href === undefined ? what : { text: what, href },
          {
            text: count >= COUNTED_MAX ? t('orMore', String(count)) : String(count),
            tone: count > 0 ? 'waiting' : undefined
          }
        ])
      },
      hoursBlock(visit, hours),
      { kind: 'meters', title: t('liquidityText'), meters }
    ]
  }
}

function isOwedMuch({ payableValue, highAlertValue }: wallet.Peer): boolean {
  return highAlertValue !== '' && BigInt(payableValue === '' ? 0 : payableValue) > BigInt(highAlertValue)
}

function hoursBlock({ t, show }: Visit, hours: readonly wallet.PaymentHour[]): Block {
  const sum = (of: (hour: wallet.PaymentHour) => bigint): string =>
    hours.reduce((total, hour) => total + of(hour), 0n).toString()
  const [completed, failed, created] = [
    sum(({ completedCount }) => completedCount),
    sum(({ failedCount }) => failedCount),
    sum(({ createdCount }) => createdCount)
  ]
  return {
    kind: 'chart',
    chart: {
      title: t('byHour'),
      summary: t('byHourText', created, completed, failed),
      stepLabel: t('hour'),
      series: [
        { label: t('state.completed'), tone: 'good' },
        { label: t('state.failed'), tone: 'bad' }
      ],
      steps: hours.map(({ startTime, completedCount, failedCount }) => ({
        label: show.instant(startTime).text.slice(0, 16),
        values: [Number(completedCount), Number(failedCount)]
      }))
    }
  }
}

/** `/search?q=`: leads to what a text names, or to a list of what it may mean. */
export async function search(visit: Visit): Promise<Reply> {
  const { t, query } = visit
  const text = (query.get('q') ?? '').trim()
  const to = text === '' ? '/' : await find(visit, text)
  if (to !== undefined) return { goTo: to }
  return {
    status: 404,
    title: t('nothingFound'),
    blocks: [{ kind: 'text', text: t('nothingFoundText', text) }]
  }
}

async function find(visit: Visit, text: string): Promise<string | undefined> {
  const id = readId(text)
  if (id !== undefined) return findById(visit, id)
  const span = readSpan(text)
  if (span !== undefined) return pathTo('/payments', { from: text, until: text })
  if (text.startsWith('jwk:')) return pathTo('/client', { name: text })
  if (/^https?:\/\//.test(text)) {
    const isHere = (await findWalletAddress(visit, text)) !== undefined
    if (isHere) return pathTo('/wallet-address', { url: text })
    return URL.canParse(text) ? pathTo('/client', { name: text }) : undefined
  }
  const { assets } = await visit.operated.wallets('listAssets', {})
  const value = readAmount(text, assets, visit.speech.messages.decimalSign)
  if (value !== undefined) return pathTo('/payments', { amount: text })
  if (/^[a-z0-9._-]{1,64}$/.test(text) && (await findAccount(visit, text)) !== undefined)
    return `/accounts/${text}`
  return undefined
}

/** A payment, a grant or an endpoint, whichever there is. */
async function findById({ operated }: Visit, id: string): Promise<string | undefined> {
  const attempts: readonly (readonly [path: string, look: () => Promise<unknown>])[] = [
    [`/payments/${id}`, () => operated.wallets('getPaymentLife', { paymentId: id })],
    [`/grants/${id}`, () => operated.grants('getGrant', { grantId: id })],
    ...SERVICES.map(
      (service) =>
        [
          `/endpoints/${service}/${id}`,
          () => operated.webhooks(service, 'getWebhookEndpoint', { id })
        ] as const
    )
  ]
  for (const [path, look] of attempts) {
    try {
      await look()
      return path
    } catch (error) {
      if (!(error instanceof OperationRefused) || !['not-found', 'invalid'].includes(error.because))
        throw error
    }
  }
  return undefined
}
