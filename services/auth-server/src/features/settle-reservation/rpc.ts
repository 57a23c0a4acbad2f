import { RpcError, status, type UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { invalidField, readAmountValue, readUuid } from '../../domain/request-fields.js'
import type { SettleOutcome, SettleReservation } from './service.js'

/** `GrantLimitsService.Settle`. */
export function createSettleRpc(
  settleReservation: SettleReservation
): UnaryHandler<auth.SettleRequest, auth.SettleResponse> {
  return async (request) => {
    const paymentId = readUuid(request.paymentId, 'payment_id')
    const debited = readAmountValue(request.debitedValue, 'debited_value')
    const received = readAmountValue(request.receivedValue, 'received_value')
    return toResponse(await settleReservation(paymentId, { debited, received }))
  }
}

function toResponse(outcome: SettleOutcome): auth.SettleResponse {
  switch (outcome) {
    case 'settled':
      return {}
    case 'unknown':
      throw new RpcError({ code: status.NOT_FOUND, message: 'The payment is unknown', field: 'payment_id' })
    case 'ended_otherwise':
      throw new RpcError({
        code: status.FAILED_PRECONDITION,
        message: 'The reservation ended otherwise, or never held room',
        field: 'payment_id'
      })
    case 'more_debited_than_reserved':
      throw invalidField('debited_value', 'must not be more than was reserved')
    case 'more_received_than_reserved':
      throw invalidField('received_value', 'must not be more than was reserved')
  }
}
