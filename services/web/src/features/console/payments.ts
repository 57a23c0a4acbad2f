import { wallet } from '@open-payments-server/proto'
import type { Block } from '../../pages/console/blocks.js'
import { readAmount, readSpan } from './find.js'
import { kindOf, pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

/** Number of rows of a page. */
export const PAGE_SIZE = 50

/** `/payments`: incoming or outgoing payments, newest first. */
export async function listPayments(visit: Visit): Promise<Reply> {
  const { t, query, operated } = visit
  const kind = query.get('kind') === 'incoming' ? 'incoming' : 'outgoing'
  const filter = { ...Object.fromEntries(query), kind, after: undefined }
  const request = await readFilter(visit)
  const blocks: Block[] = [filterOf(visit, kind)]
  if ('problem' in request) {
    blocks.push({ kind: 'text', text: request.problem, tone: 'bad' })
    return { status: 400, title: t('payments'), section: 'payments', blocks }
  }
  const page = await operated.wallets('listPayments', request.request)
  const isPart = page.nextPageToken !== '' && page.payments.length < PAGE_SIZE
  blocks.push(paymentTable(visit, page.payments, kind))
  if (isPart) blocks.push({ kind: 'text', text: t('lookedAtPart') })
  const next =
    page.nextPageToken === '' ? undefined : pathTo('/payments', { ...filter, after: page.nextPageToken })
  return { title: t('payments'), section: 'payments', blocks: [...blocks, ...goOn(visit, next)] }
}

function goOn({ t }: Visit, next: string | undefined): Block[] {
  return next === undefined ? [] : [{ kind: 'acts', acts: [{ label: t('older'), href: next }] }]
}

const STATES = {
  outgoing: ['awaiting_approval', 'pending', 'completed', 'failed'],
  incoming: ['pending', 'completed', 'expired']
} as const

function filterOf({ t, query }: Visit, kind: 'incoming' | 'outgoing'): Block {
  const valueOf = (name: string): string => query.get(name) ?? ''
  const text = (name: string, label: string, hint = '') =>
    ({ kind: 'text', name, label, hint, value: valueOf(name) }) as const
  return {
    kind: 'filter',
    label: t('filter'),
    action: '/payments',
    button: t('show'),
    fields: [
      {
        kind: 'choice',
        name: 'kind',
        label: t('kind'),
        value: kind,
        options: [
          ['outgoing', t('outgoing')],
          ['incoming', t('incoming')]
        ]
      },
      {
        kind: 'choice',
        name: 'state',
        label: t('state'),
        value: valueOf('state'),
        options: [['', t('all')], ...STATES[kind].map((state) => [state, t(`state.${state}`)] as const)]
      },
      text('wallet', t('walletAddress'), 'https://…'),
      text('client', t('client'), 'https://…'),
      text('amount', t('amount'), '25.00 USD'),
      text('from', t('from'), '2026-01-31'),
      text('until', t('until'), '2026-01-31 17:00')
    ]
  }
}

async function readFilter({
  t,
  query,
  speech,
  operated
}: Visit): Promise<{ readonly request: wallet.ListPaymentsRequest } | { readonly problem: string }> {
  const valueOf = (name: string): string => (query.get(name) ?? '').trim()
  const [from, until] = [valueOf('from'), valueOf('until')].map((text) =>
    text === '' ? undefined : readSpan(text)
  )
  if (valueOf('from') !== '' && from === undefined) return { problem: t('badInstant', valueOf('from')) }
  if (valueOf('until') !== '' && until === undefined) return { problem: t('badInstant', valueOf('until')) }
  let value = valueOf('value')
  if (valueOf('amount') !== '') {
    const { assets } = await operated.wallets('listAssets', {})
    const read = readAmount(valueOf('amount'), assets, speech.messages.decimalSign)
    if (read === undefined) return { problem: t('badAmount', valueOf('amount')) }
    value = read
  }
  const request = wallet.ListPaymentsRequest.fromPartial({
    kind: kindOf(query.get('kind')),
    walletAddress: valueOf('wallet'),
    state: valueOf('state'),
    client: valueOf('client'),
    grantId: valueOf('grant'),
    value,
    pageSize: PAGE_SIZE,
    pageToken: query.get('after') ?? '',
    ...(from === undefined ? {} : { fromTime: from.from }),
    ...(until === undefined ? {} : { untilTime: until.until })
  })
  return { request }
}

/** Payments as a table. */
export function paymentTable(
  { t, show }: Visit,
  payments: readonly wallet.Payment[],
  kind: 'incoming' | 'outgoing',
  options: { readonly title?: string; readonly next?: string | undefined } = {}
): Block {
  const isOutgoing = kind === 'outgoing'
  return {
    kind: 'table',
    title: options.title ?? t(isOutgoing ? 'outgoing' : 'incoming'),
    isTitleHidden: options.title === undefined,
    empty: t('noPayments'),
    next: options.next,
    columns: [
      { label: t('created') },
      { label: t('state') },
      { label: t(isOutgoing ? 'debit' : 'askedFor'), isNumber: true },
      { label: t(isOutgoing ? 'sent' : 'received'), isNumber: true },
      { label: t('walletAddress') },
      { label: t('client') },
      { label: t('payment') }
    ],
    rows: payments.map((payment) => [
      show.instant(payment.createTime),
      { ...show.state(payment.state), remark: payment.failureReason.replaceAll('_', ' ') },
      show.money(payment.value, payment.asset),
      show.money(payment.movedValue, payment.asset),
      show.walletAddress(payment.walletAddress),
      show.client(payment.client),
      show.payment(payment.paymentId)
    ])
  }
}

/** `/approvals`: payments that await approval. */
export async function listApprovals(visit: Visit): Promise<Reply> {
  const { t, show, operated, query } = visit
  const page = await operated.wallets('listAwaitingPayments', {
    pageSize: PAGE_SIZE,
    pageToken: query.get('after') ?? ''
  })
  return {
    title: t('approvals'),
    section: 'approvals',
    blocks: [
      {
        kind: 'table',
        title: t('approvals'),
        isTitleHidden: true,
        empty: t('noApprovals'),
        next: page.nextPageToken === '' ? undefined : pathTo('/approvals', { after: page.nextPageToken }),
        columns: [
          { label: t('declinedAt') },
          { label: t('debit'), isNumber: true },
          { label: t('walletAddress') },
          { label: t('receiver') },
          { label: t('client') },
          { label: t('payment') }
        ],
        rows: page.payments.flatMap(({ payment, client, approval }) =>
          payment === undefined
            ? []
            : [
                [
                  show.instant(approval?.expireTime),
                  show.money(payment.value, payment.asset),
                  show.walletAddress(payment.walletAddress),
                  payment.receiver,
                  show.client(client),
                  show.payment(payment.paymentId)
                ]
              ]
        )
      }
    ]
  }
}
