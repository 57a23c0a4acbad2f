import { auth, events, wallet } from '@open-payments-server/proto'
import type { Block, Cell, Fact } from '../../pages/console/blocks.js'
import { type Operated, OperationRefused, type ServiceName } from '../operated.js'
import { readAmount, readSpan } from './find.js'
import { kindOf, NONE, pathTo } from './show.js'
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

/** `/payments/:id`: all that belongs to a payment, in both services. */
export async function showPayment(visit: Visit): Promise<Reply> {
  const { t, show, operated, request } = visit
  const paymentId = request.param('id').toLowerCase()
  const life = await operated.wallets('getPaymentLife', { paymentId })
  const { payment, outgoing } = life
  if (payment === undefined) throw new OperationRefused('not-found', paymentId)
  const [reservation, told] = await Promise.all([
    outgoing === undefined ? undefined : findReservation(operated, paymentId),
    readEvents(operated, 'resource-server', paymentId)
  ])
  const acts = [
    ...(visit.may('approver') && payment.state === 'awaiting_approval'
      ? (['approve-payment', 'decline-payment'] as const).map((act) => ({
          label: t(`act.${act}`),
          href: pathTo(`/act/${act}`, { subject: life.url })
        }))
      : []),
    ...(visit.may('operator') && outgoing !== undefined && outgoing.receivedValue !== '0'
      ? [{ label: t('act.refund-payment'), href: pathTo('/act/refund-payment', { subject: life.url }) }]
      : [])
  ]
  return {
    title: t(outgoing === undefined ? 'incomingPayment' : 'outgoingPayment'),
    section: 'payments',
    blocks: [
      { kind: 'facts', facts: paymentFacts(visit, life) },
      { kind: 'acts', acts },
      ...(outgoing?.approval === undefined ? [] : [approvalBlock(visit, outgoing.approval)]),
      ...(outgoing === undefined ? [] : [reservationBlock(visit, outgoing, reservation)]),
      entryTable(visit, life.entries),
      ...(life.refunds.length === 0 ? [] : [refundTable(visit, life.refunds)]),
      eventTable(visit, told),
      deliveryTable(visit, told)
    ]
  }
  function paymentFacts(of: Visit, { url, client, expireTime }: wallet.GetPaymentLifeResponse): Fact[] {
    const money = (value: string): string => show.money(value, payment?.asset)
    const failure = payment?.failureReason ?? ''
    return [
      {
        label: t('state'),
        value: { ...show.state(payment?.state ?? ''), remark: payment?.failureMeaning ?? '' }
      },
      ...(failure === '' ? [] : [{ label: t('reason'), value: failure.replaceAll('_', ' ') }]),
      { label: t(outgoing === undefined ? 'askedFor' : 'debit'), value: money(payment?.value ?? '') },
      { label: t(outgoing === undefined ? 'received' : 'sent'), value: money(payment?.movedValue ?? '') },
      ...(outgoing === undefined
        ? []
        : [
            { label: t('fee'), value: money(outgoing.feeValue) },
            { label: t('receiverGets'), value: show.money(outgoing.receiveValue, outgoing.receiveAsset) },
            { label: t('receiverGot'), value: show.money(outgoing.receivedValue, outgoing.receiveAsset) }
          ]),
      { label: t('walletAddress'), value: show.walletAddress(payment?.walletAddress ?? '') },
      ...(outgoing === undefined
        ? []
        : [{ label: t('receiver'), value: receiverCell(of, payment?.receiver ?? '') }]),
      { label: t('client'), value: show.client(client) },
      ...(outgoing === undefined ? [] : [{ label: t('grant'), value: show.grant(outgoing.grantId) }]),
      ...(payment?.refundOf === '' || payment === undefined
        ? []
        : [{ label: t('refundOf'), value: show.payment(payment.refundOf.split('/').at(-1) ?? '') }]),
      ...(payment?.refundedValue === '0' || payment === undefined
        ? []
        : [{ label: t('refunded'), value: show.money(payment.refundedValue, payment.refundedAsset) }]),
      { label: t('created'), value: show.instant(payment?.createTime) },
      { label: t('changed'), value: show.instant(payment?.updateTime) },
      ...(expireTime === undefined ? [] : [{ label: t('expires'), value: show.instant(expireTime) }]),
      { label: t('id'), value: { text: paymentId, isCode: true } },
      { label: t('url'), value: url },
      ...(outgoing === undefined || outgoing.quote === ''
        ? []
        : [{ label: t('quote'), value: outgoing.quote }])
    ]
  }
}

/** The incoming payment that is paid: a page of it, if it is hosted here. */
function receiverCell({ show }: Visit, receiver: string): Cell {
  const id = receiver.split('/').at(-1) ?? ''
  return { ...show.payment(id), text: receiver, isCode: false }
}

async function findReservation(operated: Operated, paymentId: string): Promise<auth.Reservation | undefined> {
  try {
    return (await operated.grants('getReservation', { paymentId })).reservation
  } catch (error) {
    if (error instanceof OperationRefused && error.because === 'not-found') return undefined
    throw error
  }
}

function approvalBlock({ t, show }: Visit, approval: wallet.Approval): Block {
  return {
    kind: 'facts',
    title: t('approval'),
    facts: [
      {
        label: t('decision'),
        value:
          approval.decision === ''
            ? { text: t('awaited'), tone: 'waiting' }
            : { text: approval.decision.replaceAll('_', ' '), remark: approval.decisionMeaning }
      },
      { label: t('declinedAt'), value: show.instant(approval.expireTime) },
      ...(approval.decision === ''
        ? []
        : [
            { label: t('decidedAt'), value: show.instant(approval.decideTime) },
            { label: t('by'), value: approval.decidedBy === '' ? NONE : approval.decidedBy }
          ]),
      ...(approval.reason === '' ? [] : [{ label: t('reason'), value: approval.reason }])
    ]
  }
}

const RESERVATION_STATES: Readonly<Record<number, string>> = {
  [auth.ReservationState.RESERVATION_STATE_OPEN]: 'open',
  [auth.ReservationState.RESERVATION_STATE_SETTLED]: 'settled',
  [auth.ReservationState.RESERVATION_STATE_RELEASED]: 'released',
  [auth.ReservationState.RESERVATION_STATE_REFUSED]: 'refused'
}

function reservationBlock(
  { t, show }: Visit,
  { outcome, outcomeAttempts, outcomeTime }: wallet.OutgoingPaymentDetails,
  reservation: auth.Reservation | undefined
): Block {
  const delivery: Fact = {
    label: t('outcome'),
    value:
      outcome === ''
        ? t('outcomeOpen')
        : {
            text: t(outcome === 'settle' ? 'outcomeSettle' : 'outcomeRelease'),
            tone: outcomeTime === undefined ? 'waiting' : 'good',
            remark:
              outcomeTime === undefined
                ? t('attemptsSoFar', String(outcomeAttempts))
                : t('acknowledgedAt', show.instant(outcomeTime).text)
          }
  }
  if (reservation === undefined)
    return {
      kind: 'facts',
      title: t('reservation'),
      facts: [{ label: t('state'), value: t('noReservation') }, delivery]
    }
  const { debitAmount, receiveAmount, settledDebitValue, settledReceiveValue } = reservation
  return {
    kind: 'facts',
    title: t('reservation'),
    facts: [
      { label: t('state'), value: show.state(RESERVATION_STATES[reservation.state] ?? '') },
      { label: t('reservedDebit'), value: show.amount(debitAmount) },
      { label: t('reservedReceive'), value: show.amount(receiveAmount) },
      ...(settledDebitValue === ''
        ? []
        : [
            {
              label: t('settledDebit'),
              value: show.amount(debitAmount && { ...debitAmount, value: settledDebitValue })
            },
            {
              label: t('settledReceive'),
              value: show.amount(receiveAmount && { ...receiveAmount, value: settledReceiveValue })
            }
          ]),
      { label: t('reservedAt'), value: show.instant(reservation.chargeTime) },
      delivery
    ]
  }
}

/** Entries of the ledger as a table. */
export function entryTable({ t, show }: Visit, entries: readonly wallet.LedgerEntry[], next?: string): Block {
  return {
    kind: 'table',
    title: t('entries'),
    empty: t('noEntries'),
    next,
    columns: [
      { label: t('created') },
      { label: t('kind') },
      { label: t('state') },
      { label: t('debited') },
      { label: t('credited') },
      { label: t('amount'), isNumber: true },
      { label: t('posted'), isNumber: true },
      { label: t('payment') }
    ],
    rows: entries.map((entry) => [
      show.instant(entry.createTime),
      entry.kind.replaceAll('_', ' '),
      show.state(entry.state),
      accountCell(entry.debitAccount),
      accountCell(entry.creditAccount),
      show.money(entry.value, entry.asset),
      show.money(entry.postedValue, entry.asset),
      isOfPayment(entry) ? show.payment(entry.paymentId) : NONE
    ])
  }
  function accountCell(name: string): string | Cell {
    return PROVIDERS.has(name) ? name.replaceAll('_', ' ') : show.account(name)
  }
}

/** The kinds of the provider's accounts, which have no page. */
const PROVIDERS: ReadonlySet<string> = new Set([
  ...['outside', 'clearing', 'exchange', 'fees'],
  ...['peer_receivable', 'peer_payable']
])

function isOfPayment({ kind, paymentId }: wallet.LedgerEntry): boolean {
  return paymentId !== '' && ['payment', 'fee', 'delivery', 'conversion'].includes(kind)
}

function refundTable({ t, show }: Visit, refunds: readonly wallet.Refund[]): Block {
  return {
    kind: 'table',
    title: t('refunds'),
    empty: '',
    columns: [
      { label: t('created') },
      { label: t('state') },
      { label: t('taken'), isNumber: true },
      { label: t('returned'), isNumber: true },
      { label: t('by') }
    ],
    rows: refunds.map((refund) => [
      show.instant(refund.createTime),
      show.state(refund.state),
      show.money(refund.settledValue === '' ? refund.value : refund.settledValue, refund.asset),
      show.money(refund.returnedValue, refund.returnedAsset),
      refund.createdBy === '' ? NONE : refund.createdBy
    ])
  }
}

/** Events of a resource, and attempts to deliver them. */
export interface Told {
  readonly events: readonly events.Event[]
  readonly attempts: readonly events.EventAttempt[]
}

/** Reads what was told of a resource, of its id (UUID). */
export async function readEvents(operated: Operated, service: ServiceName, subjectId: string): Promise<Told> {
  const request = events.ListSubjectEventsRequest.fromPartial({ subjectId })
  const found = await operated.events(service, 'listSubjectEvents', request)
  const eventIds = found.events.map(({ id }) => id)
  const { attempts } =
    eventIds.length === 0
      ? { attempts: [] }
      : await operated.webhooks(service, 'listEventAttempts', { eventIds })
  return { events: found.events, attempts }
}

/** Events as a table. */
export function eventTable({ t, show }: Visit, { events: told }: Told): Block {
  return {
    kind: 'table',
    title: t('events'),
    empty: t('noEvents'),
    columns: [{ label: t('at') }, { label: t('event') }, { label: t('trace') }, { label: t('id') }],
    rows: told.map(({ time, type, traceparent, id }) => [
      show.instant(time),
      type,
      { text: traceparent === '' ? NONE : (traceparent.split('-')[1] ?? ''), isCode: true },
      { text: id, isCode: true }
    ])
  }
}

/** Attempts to deliver them as a table. */
export function deliveryTable({ t, show }: Visit, { attempts }: Told): Block {
  return {
    kind: 'table',
    title: t('deliveries'),
    empty: t('noDeliveries'),
    columns: [
      { label: t('at') },
      { label: t('event') },
      { label: t('result') },
      { label: t('took'), isNumber: true },
      { label: t('endpoint') }
    ],
    rows: attempts.flatMap(({ attempt, url }) =>
      attempt === undefined
        ? []
        : [
            [
              show.instant(attempt.attemptedAt),
              attempt.eventType,
              attemptCell(attempt),
              `${String(attempt.durationMs)} ms`,
              url
            ]
          ]
    )
  }
}

/** How an attempt ended. */
export function attemptCell({ status, failure }: events.WebhookAttempt): Cell {
  const answered = status === 0 ? '' : String(status)
  return failure === ''
    ? { text: answered, tone: 'good' }
    : { text: answered === '' ? failure : `${answered} ${failure}`, tone: 'bad' }
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
