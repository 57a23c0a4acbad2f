import { formatAmount } from '@open-payments-server/amounts'
import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { cutPage, readPageToken } from '../../grpc/page-token.js'
import { readPageSize, readUuid } from '../../grpc/request-fields.js'
import type { Reservation, ReservationRepository } from './repository.js'

/** `GrantLimitsService.ListOpenReservations`. */
export function createListOpenReservationsRpc(
  repository: ReservationRepository
): UnaryHandler<auth.ListOpenReservationsRequest, auth.ListOpenReservationsResponse> {
  return async ({ olderThanSeconds, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = pageToken === '' ? undefined : readPageToken(pageToken)
    const found = await repository.listOpen({ olderThanSeconds, after, count: pageSize + 1 })
    const { items, nextPageToken } = cutPage(found, pageSize, ({ createdAt, paymentId }) => ({
      createdAt,
      id: paymentId
    }))
    return { reservations: items.map(toMessage), nextPageToken }
  }
}

/** `GrantLimitsService.ListReservations`. */
export function createListReservationsRpc(
  repository: ReservationRepository
): UnaryHandler<auth.ListReservationsRequest, auth.ListReservationsResponse> {
  return async ({ afterPaymentId, pageSize }) => {
    const after = afterPaymentId === '' ? undefined : readUuid(afterPaymentId, 'after_payment_id')
    const reservations = await repository.listAfter(after, readPageSize(pageSize))
    return { reservations: reservations.map(toMessage) }
  }
}

function toMessage(reservation: Reservation): auth.Reservation {
  const { debitAmount, receiveAmount, settled } = reservation
  return {
    paymentId: reservation.paymentId,
    grantId: reservation.grantId ?? '',
    client: reservation.client ?? '',
    walletAddress: reservation.walletAddress ?? '',
    receiver: reservation.receiver ?? '',
    state: STATES[reservation.state],
    debitAmount: debitAmount && formatAmount(debitAmount),
    receiveAmount: receiveAmount && formatAmount(receiveAmount),
    settledDebitValue: settled?.debited.toString() ?? '',
    settledReceiveValue: settled?.received.toString() ?? '',
    createTime: reservation.createdAt
  }
}

const STATES: Readonly<Record<Reservation['state'], auth.ReservationState>> = {
  open: auth.ReservationState.RESERVATION_STATE_OPEN,
  settled: auth.ReservationState.RESERVATION_STATE_SETTLED,
  released: auth.ReservationState.RESERVATION_STATE_RELEASED,
  refused: auth.ReservationState.RESERVATION_STATE_REFUSED
}
