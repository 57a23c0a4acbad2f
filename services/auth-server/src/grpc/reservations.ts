import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { cutPage, readPageSize, readPageToken, writePageToken } from '@open-payments-server/service-kit/grpc'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import { CallRefused } from '../domain/call-refused.js'
import { readUuid } from './request-fields.js'
import type { Database } from '../modules/database.js'
import { findReservation, listAfter, listOpen, type Reservation } from '../modules/limits/index.js'

/** `GrantLimitsService.ListOpenReservations`. */
export function listOpenReservationsRpc({
  database
}: {
  readonly database: Database
}): UnaryHandler<auth.ListOpenReservationsRequest, auth.ListOpenReservationsResponse> {
  return async ({ olderThanSeconds, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = readPageToken(pageToken)
    const found = await listOpen(database, { olderThanSeconds, after, count: pageSize + 1 })
    const { items, nextPageToken } = cutPage(found, pageSize, ({ createdAtMs, paymentId }) =>
      writePageToken({ createdAtMs, id: paymentId })
    )
    return { reservations: items.map(toMessage), nextPageToken }
  }
}

/** `GrantLimitsService.ListReservations`. */
export function listReservationsRpc({
  database
}: {
  readonly database: Database
}): UnaryHandler<auth.ListReservationsRequest, auth.ListReservationsResponse> {
  return async ({ afterPaymentId, pageSize }) => {
    const after = afterPaymentId === '' ? undefined : readUuid(afterPaymentId, 'after_payment_id')
    const reservations = await listAfter(database, after, readPageSize(pageSize))
    return { reservations: reservations.map(toMessage) }
  }
}

/** `GrantOperatorService.GetReservation`. */
export function getReservationRpc({
  database
}: {
  readonly database: Database
}): UnaryHandler<auth.GetReservationRequest, auth.GetReservationResponse> {
  return async ({ paymentId }) => {
    const found = await findReservation(database, readUuid(paymentId, 'payment_id'))
    if (found === undefined)
      throw new CallRefused('not-found', 'Nothing was ever reserved for this payment', {
        field: 'payment_id'
      })
    return { reservation: toMessage(found) }
  }
}

function toMessage(reservation: Reservation): auth.Reservation {
  const { amounts, settled, spent } = reservation
  return {
    paymentId: reservation.paymentId,
    grantId: reservation.grantId ?? '',
    client: reservation.client ?? '',
    walletAddress: reservation.walletAddress ?? '',
    receiver: reservation.receiver ?? '',
    state: STATES[reservation.state],
    debitAmount: amounts && formatAmount(amounts.debitAmount),
    receiveAmount: amounts && formatAmount(amounts.receiveAmount),
    settledDebitValue: settled?.settledDebitValue.toString() ?? '',
    settledReceiveValue: settled?.settledReceiveValue.toString() ?? '',
    createTime: new Date(reservation.createdAtMs),
    chargeTime: reservation.chargedAtMs === undefined ? undefined : new Date(reservation.chargedAtMs),
    contentHash: reservation.contentHash ?? Buffer.alloc(0),
    spentDebitValue: spent?.spentDebitValue.toString() ?? '',
    spentReceiveValue: spent?.spentReceiveValue.toString() ?? ''
  }
}

const STATES: Readonly<Record<Reservation['state'], auth.ReservationState>> = {
  open: auth.ReservationState.RESERVATION_STATE_OPEN,
  settled: auth.ReservationState.RESERVATION_STATE_SETTLED,
  released: auth.ReservationState.RESERVATION_STATE_RELEASED,
  refused: auth.ReservationState.RESERVATION_STATE_REFUSED
}
