import { auth, type wallet } from '@open-payments-server/proto'
import type { Block, Cell, Fact } from '../../pages/console/blocks.js'
import { type Operated, OperationRefused } from '../operated.js'
import { NONE, pathTo } from './show.js'
import { deliveryTable, entryTable, eventTable, readEvents } from './tables.js'
import type { Reply, Visit } from './visit.js'

/** `/payments/:id`: all that belongs to a payment, in both services. */
export async function showPayment(visit: Visit): Promise<Reply> {
  const { t, operated, request } = visit
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
      { kind: 'facts', facts: paymentFacts(visit, life, payment) },
      { kind: 'acts', acts },
      ...(outgoing?.approval === undefined ? [] : [approvalBlock(visit, outgoing.approval)]),
      ...(outgoing === undefined ? [] : [reservationBlock(visit, outgoing, reservation)]),
      entryTable(visit, life.entries),
      ...(life.refunds.length === 0 ? [] : [refundTable(visit, life.refunds)]),
      eventTable(visit, told),
      deliveryTable(visit, told)
    ]
  }
}

/** What is told of a payment. */
function paymentFacts(visit: Visit, life: wallet.GetPaymentLifeResponse, payment: wallet.Payment): Fact[] {
  const { t, show } = visit
  const { url, client, expireTime, outgoing } = life
  const money = (value: string): string => show.money(value, payment.asset)
  const failure = payment.failureReason
  return [
    {
      label: t('state'),
      value: { ...show.state(payment.state), remark: payment.failureMeaning }
    },
    ...(failure === '' ? [] : [{ label: t('reason'), value: failure.replaceAll('_', ' ') }]),
    { label: t(outgoing === undefined ? 'askedFor' : 'debit'), value: money(payment.value) },
    { label: t(outgoing === undefined ? 'received' : 'sent'), value: money(payment.movedValue) },
    ...(outgoing === undefined
      ? []
      : [
          { label: t('fee'), value: money(outgoing.feeValue) },
          { label: t('receiverGets'), value: show.money(outgoing.receiveValue, outgoing.receiveAsset) },
          { label: t('receiverGot'), value: show.money(outgoing.receivedValue, outgoing.receiveAsset) }
        ]),
    { label: t('walletAddress'), value: show.walletAddress(payment.walletAddress) },
    ...(outgoing === undefined
      ? []
      : [{ label: t('receiver'), value: receiverCell(visit, payment.receiver) }]),
    { label: t('client'), value: show.client(client) },
    ...(outgoing === undefined ? [] : [{ label: t('grant'), value: show.grant(outgoing.grantId) }]),
    ...(payment.refundOf === ''
      ? []
      : [{ label: t('refundOf'), value: show.payment(payment.refundOf.split('/').at(-1) ?? '') }]),
    ...(payment.refundedValue === '0'
      ? []
      : [{ label: t('refunded'), value: show.money(payment.refundedValue, payment.refundedAsset) }]),
    { label: t('created'), value: show.instant(payment.createTime) },
    { label: t('changed'), value: show.instant(payment.updateTime) },
    ...(expireTime === undefined ? [] : [{ label: t('expires'), value: show.instant(expireTime) }]),
    { label: t('id'), value: { text: payment.paymentId, isCode: true } },
    { label: t('url'), value: url },
    ...(outgoing === undefined || outgoing.quote === '' ? [] : [{ label: t('quote'), value: outgoing.quote }])
  ]
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
