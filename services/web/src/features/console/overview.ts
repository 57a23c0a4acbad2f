import { operators, type wallet } from '@open-payments-server/proto'
import type { Block } from '../../pages/console/blocks.js'
import { OperationRefused, SERVICES } from '../operated.js'
import { findAccount, findWalletAddress } from './accounts.js'
import { readAmount, readId, readSpan } from './find.js'
import { liquidityOf } from './peers.js'
import { pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

/** Maximum number of payments and of proposals that are counted. */
const COUNTED_MAX = 100
/** Maximum number of packets that the resource server counts. */
const PACKETS_COUNTED_MAX = 1_000
/** Maximum number of peers that are looked at: what one call lists. */
const LISTED_MAX = 1_000
/** Maximum number of peers whose liquidity is shown. */
const METERS_MAX = 100

/** `/`: what awaits an operator, payments by the hour, and liquidity. */
export async function showOverview(visit: Visit): Promise<Reply> {
  const { t, operated } = visit
  const [awaiting, proposed, lastAudits, listed, packets, { hours }, endpoints] = await Promise.all([
    operated.wallets('listAwaitingPayments', { pageSize: COUNTED_MAX, pageToken: '' }),
    countProposals(visit),
    Promise.all(
      SERVICES.map((service) => operated.events(service, 'listAudits', { pageSize: 1, pageToken: '' }))
    ),
    operated.peers('listPeers', { pageSize: LISTED_MAX, pageToken: '' }),
    operated.peers('countUnknownPackets', {}),
    operated.wallets('countPayments', { hours: 24 }),
    Promise.all(SERVICES.map((service) => operated.webhooks(service, 'countWebhookEndpoints', {})))
  ])
  const { peers } = listed
  const meters = peers.map((peer) => liquidityOf(visit, peer))
  const isMorePeers = listed.nextPageToken !== ''
  const failedAudits = lastAudits.filter(({ events: [last] }) => last?.type === 'audit.failed').length
  const disabled = endpoints.reduce((sum, { disabledCount }) => sum + disabledCount, 0)
  const failing = endpoints.reduce((sum, { failingCount }) => sum + failingCount, 0)
  const low = meters.filter(({ tone }) => tone !== undefined).length
  const matters: readonly Matter[] = [
    [t('matter.awaiting'), awaiting.payments.length, '/approvals', awaiting.nextPageToken !== ''],
    [t('matter.proposals'), proposed.count, pathTo('/proposals', { state: 'open' }), proposed.isMore],
    [t('matter.audits'), failedAudits, '/audits', false],
    [t('matter.packets'), packets.count, '/peers', packets.count >= PACKETS_COUNTED_MAX],
    [t('matter.peersLow'), low, '/peers', isMorePeers],
    [t('matter.peersHigh'), peers.filter(isOwedMuch).length, '/peers', isMorePeers],
    [t('matter.disabled'), disabled, '/endpoints', false],
    [t('matter.failing'), failing, '/endpoints', false]
  ]
  return {
    title: t('overview'),
    section: 'overview',
    blocks: [
      mattersTable(visit, matters),
      hoursBlock(visit, hours),
      { kind: 'meters', title: t('liquidityText'), meters: meters.slice(0, METERS_MAX) },
      ...(meters.length > METERS_MAX
        ? [{ kind: 'acts' as const, acts: [{ label: t('allPeers'), href: '/peers' }] }]
        : [])
    ]
  }
}

/** What may await an operator, how many there are, where they are, and whether there may be more. */
type Matter = readonly [what: string, count: number, href: string, isMore: boolean]

function mattersTable({ t }: Visit, matters: readonly Matter[]): Block {
  return {
    kind: 'table',
    title: t('awaitsYou'),
    isNarrow: true,
    empty: '',
    columns: [{ label: t('what') }, { label: t('number'), isNumber: true }],
    rows: matters.map(([what, count, href, isMore]) => [
      { text: what, href },
      {
        text: isMore ? t('orMore', String(count)) : String(count),
        tone: count > 0 || isMore ? 'waiting' : undefined
      }
    ])
  }
}

/** How many proposals await a second person, of each service up to {@link COUNTED_MAX}. */
async function countProposals({
  operated
}: Visit): Promise<{ readonly count: number; readonly isMore: boolean }> {
  const state = operators.ProposalState.PROPOSAL_STATE_OPEN
  const pages = await Promise.all(
    SERVICES.map((service) =>
      operated.acts(service, 'listProposals', { state, pageSize: COUNTED_MAX, pageToken: '' })
    )
  )
  return {
    count: pages.reduce((sum, { proposals }) => sum + proposals.length, 0),
    isMore: pages.some(({ nextPageToken }) => nextPageToken !== '')
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
