import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { newId } from '@open-payments-server/value-types/identifiers'
import { assertCallKey, readPositiveCallValue } from '../../domain/call-fields.js'
import { CallRefused } from '../../domain/call-refused.js'
import { sha256 } from '../../domain/idempotency.js'
import type { OutgoingPaymentState } from '../../domain/outgoing-payment.js'
import type { Refund } from '../../domain/refund.js'
import { Prisma } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { refundPosted, refundRoute, refundTransferIds } from '../../modules/ledger/index.js'
import {
  isElsewhere,
  lockedOriginals,
  refundCounted,
  stateOf
} from '../../modules/outgoing-payments/index.js'
import {
  asked,
  askedRefund,
  findRefund,
  type NewRefund,
  refundCreatedEvents,
  refunded,
  refundEndedEvents,
  type RefundIdentity
} from '../../modules/refunds/index.js'
import type { RefundDependencies } from './dependencies.js'
import { readPaymentId } from './read-payment-id.js'

/** A request for a refund by the provider. */
export interface RefundRequest {
  /** URL of the outgoing payment whose delivery is given back, as given. */
  readonly refundOf: string
  /** What to take from the receiver, as a decimal string in units of the receiver's asset; above 0. */
  readonly value: string
  /** The same key with the same content has no further effect; empty for none. */
  readonly idempotencyKey: string
  /** Whether the payer also gets the fee back, in proportion. */
  readonly returnsFee: boolean
  /** Names of whoever asks for it; undefined if they are not known. */
  readonly by: string | undefined
}

interface CreatedRow {
  readonly created: boolean
  /** Null where there is no such payment, or where the key was used. */
  readonly state: OutgoingPaymentState | null
  /** Null unless it has ended. */
  readonly delivered_value: string | null
  readonly refunded_value: string | null
  readonly has_money: boolean | null
  /** Whether its receiver is hosted elsewhere; null where there is no such payment. */
  readonly is_elsewhere: boolean | null
}

// One statement, so that nothing of it is done without the rest. It locks the payment, and then both accounts in the order of
// ids, as every statement does that moves a payment's money. What it reads of them is the latest commit, so refunds that race
// count one after the other. A refund that is not possible leaves everything as it is, and says what it found.
const CREATE = new Statement<CreatedRow>(
  'create-refund',
  Prisma.sql`
  with ${asked}, ${lockedOriginals(Prisma.sql`array(select refund_of from asked)`)}, ${refundRoute}, ${refunded}, ${refundCounted}, ${refundPosted},
       ${appended(Prisma.sql`${refundCreatedEvents} union all ${refundEndedEvents}`)}
  select exists (select 1 from refunding) as created, ${stateOf(Prisma.sql`asked.refund_of`)} as state,
         original.settled_receive_value::text as delivered_value, original.refunded_value::text, party.available >= ${placeholder('value')}::numeric as has_money,
         ${isElsewhere(Prisma.sql`asked.refund_of`)} as is_elsewhere
    from (values (true)) as always (is_there)
    left join asked on true
    left join original on true
    left join route on true
    left join party on party.id = route.receiver_account_id`
)

/**
 * Gives back what an outgoing payment delivered, or a part of it, at the rate of that payment: takes it from the receiver's
 * account and credits it to the payer's. The payment's own amounts and what its grant has spent stay as they are. All refunds of
 * a payment together never take more than it delivered. The same key with the same content gets the same refund.
 *
 * @throws CallRefused `invalid`, `not-found` for the payment, `already-exists` for a key that was used with other content, or
 *   `not-possible` for a payment that has not ended, has delivered nothing, went to another provider or has less left to refund,
 *   and for a receiver who has less money available
 */
export async function createRefund(
  request: RefundRequest,
  dependencies: RefundDependencies & Acting
): Promise<Refund> {
  const { database, clock, random, urls, onEventsAppended } = dependencies
  const refund: NewRefund = {
    id: newId(clock, random),
    refundOf: readPaymentId(request.refundOf, urls),
    value: readPositiveCallValue(request.value, 'value'),
    returnsFee: request.returnsFee,
    identity: identify(request),
    createdBy: request.by
  }
  const [created] = await CREATE.rows(database, {
    ...askedRefund(refund),
    ...refundTransferIds(() => newId(clock, random)),
    now: instantText(clock.now())
  })
  if (created === undefined) throw new Error('a statement that always answers a row answered none')
  if (created.created) onEventsAppended()
  else dependencies.onUnchanged()
  const found = await findRefund(database, { ...refund, idempotencyHash: refund.identity?.idempotencyHash })
  if (found === undefined) throw impossible(created)
  if (refund.identity !== undefined && found.requestHash?.equals(refund.identity.requestHash) !== true) {
    throw new CallRefused('already-exists', 'the key was used for another refund', {
      field: 'idempotency_key'
    })
  }
  return found.refund
}

function identify(request: RefundRequest): RefundIdentity | undefined {
  const { refundOf, value, idempotencyKey, returnsFee } = request
  if (idempotencyKey === '') return undefined
  assertCallKey(idempotencyKey, 'idempotency_key')
  return {
    idempotencyHash: sha256(idempotencyKey),
    requestHash: sha256(`${refundOf}\n${value}\n${String(returnsFee)}`)
  }
}

/** Why there is no refund, by what its statement found. */
function impossible({
  state,
  is_elsewhere,
  delivered_value,
  refunded_value,
  has_money
}: CreatedRow): CallRefused {
  if (state === null) {
    return new CallRefused('not-found', 'there is no such outgoing payment here', { field: 'refund_of' })
  }
  if (delivered_value === null || refunded_value === null) {
    return new CallRefused('not-possible', 'the payment has not ended yet', { field: 'refund_of' })
  }
  if (delivered_value === '0') {
    return new CallRefused('not-possible', 'the payment failed and delivered nothing', { field: 'refund_of' })
  }
  if (is_elsewhere === true) {
    return new CallRefused(
      'not-possible',
      'it was delivered to another provider, where the receiver pays it back',
      {
        field: 'refund_of'
      }
    )
  }
  if (has_money === false) {
    return new CallRefused('not-possible', "the receiver's account has less than that available", {
      field: 'value'
    })
  }
  const left = BigInt(delivered_value) - BigInt(refunded_value)
  return new CallRefused('not-possible', `no more than ${left.toString()} is left to refund`, {
    field: 'value'
  })
}
