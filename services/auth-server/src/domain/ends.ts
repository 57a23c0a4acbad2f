import { RpcError, status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { invalidField, readAmountValue, readUuid } from '../grpc/request-fields.js'

/** What a payment really spent, in the units it was reserved in. */
export interface SettledValues {
  readonly debited: bigint
  readonly received: bigint
}

/** How a reservation is to end. */
export interface End {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  /** undefined to release it: the payment does not exist. */
  readonly spent: SettledValues | undefined
}

/** What became of a call that ends a reservation. */
export type EndOutcome =
  /** It ended as asked, by this call or by an earlier one. A released one holds no room, and never will. */
  | 'ended'
  /** No reservation of the payment to be settled is known. */
  | 'unknown'
  /** The one to be settled was settled with other values, released, or never held room. */
  | 'ended_otherwise'
  /** The one to be released was settled. */
  | 'was_settled'
  | 'more_debited_than_reserved'
  | 'more_received_than_reserved'

/** Ends a reservation. Twice has the effect of once. */
export type EndReservation = (end: End) => Promise<EndOutcome>

/** @throws RpcError INVALID_ARGUMENT */
export function readSettle(request: auth.SettleRequest): End & { readonly spent: SettledValues } {
  const paymentId = readUuid(request.paymentId, 'payment_id')
  const debited = readAmountValue(request.debitedValue, 'debited_value')
  const received = readAmountValue(request.receivedValue, 'received_value')
  return { paymentId, spent: { debited, received } }
}

/** @throws RpcError INVALID_ARGUMENT */
export function readRelease(request: auth.ReleaseRequest): End & { readonly spent: undefined } {
  return { paymentId: readUuid(request.paymentId, 'payment_id'), spent: undefined }
}

/** @throws RpcError for every outcome but `ended` */
export function mustHaveEnded(outcome: EndOutcome): void {
  switch (outcome) {
    case 'ended':
      return
    case 'unknown':
      throw new RpcError({ code: status.NOT_FOUND, message: 'The payment is unknown', field: 'payment_id' })
    case 'ended_otherwise':
      throw endedOtherwise('The reservation ended otherwise, or never held room')
    case 'was_settled':
      throw endedOtherwise('The reservation was settled')
    case 'more_debited_than_reserved':
      throw invalidField('debited_value', 'must not be more than was reserved')
    case 'more_received_than_reserved':
      throw invalidField('received_value', 'must not be more than was reserved')
  }
}

function endedOtherwise(message: string): RpcError {
  return new RpcError({ code: status.FAILED_PRECONDITION, message, field: 'payment_id' })
}
