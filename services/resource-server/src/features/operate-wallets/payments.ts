import type { Asset } from '@open-payments-server/value-types/amounts'
import { isUuid, type PageEnd } from '@open-payments-server/value-types/identifiers'
import { readCallValue } from '../../domain/call-fields.js'
import { invalidCallField } from '../../domain/call-refused.js'
import { FAILURE_REASONS, type FailureReason } from '../../domain/failure-reasons.js'
import type { OutgoingPaymentState } from '../../domain/outgoing-payment.js'
import { listNewestIncomingPayments } from '../../modules/incoming-payments/index.js'
import {
  type ListedPayment,
  listNewestOutgoingPayments,
  type NewestFilter
} from '../../modules/outgoing-payments/index.js'
import type { OperatorDependencies } from './dependencies.js'
import { findWalletAddress } from './wallet-addresses.js'

/** A payment as operators see it. Values are in units of its asset. */
export interface OperatedPayment {
  /** Id (UUID). */
  readonly id: string
  readonly kind: 'incoming' | 'outgoing'
  /** URL of the wallet address it belongs to. */
  readonly walletAddress: string
  /** Who created it; see `nameClient`. */
  readonly client: string
  readonly state: OutgoingPaymentState | 'expired'
  /** undefined unless it failed. */
  readonly failure: { readonly reason: FailureReason; readonly meaning: string } | undefined
  /** Incoming amount or debit amount; undefined when open. */
  readonly value: bigint | undefined
  /** Amount actually received, or actually sent. */
  readonly movedValue: bigint
  readonly asset: Asset
  /** URL of the incoming payment that an outgoing payment pays; empty for incoming payments. */
  readonly receiver: string
  /** What refunds took of what it delivered or received, or are to take, in the receiver's asset. */
  readonly refundedValue: bigint
  readonly refundedAsset: Asset
  /** URL of the outgoing payment that it, or the payments to it, refund; undefined unless they do. */
  readonly refundOf: string | undefined
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

const LISTS = { incoming: listNewestIncomingPayments, outgoing: listNewestOutgoingPayments }

/** The requested part of a list of payments. */
export interface PaymentListRequest {
  readonly kind: OperatedPayment['kind']
  /** URL of the wallet address whose payments are listed; empty for those of all. */
  readonly walletAddress: string
  readonly fromTime: Date | undefined
  readonly untilTime: Date | undefined
  /** A decimal string; empty for any. */
  readonly value: string
  /** Empty for any, as are those below. */
  readonly state: string
  readonly client: string
  readonly grantId: string
  /** Position after which the list begins; undefined starts with the newest. */
  readonly after: PageEnd | undefined
  readonly limit: number
}

/** A page of payments. */
export interface OperatedPaymentPage {
  readonly payments: readonly OperatedPayment[]
  /** Where the next page begins; undefined after the last one. */
  readonly next: PageEnd | undefined
}

/** The states of payments, as lists show them. */
const STATES: Readonly<Record<OperatedPayment['kind'], readonly string[]>> = {
  incoming: ['pending', 'completed', 'expired'],
  outgoing: ['awaiting_approval', 'pending', 'completed', 'failed']
}

/**
 * Lists incoming or outgoing payments, newest first.
 *
 * @throws CallRefused `not-found` for the wallet address, `invalid` for another field
 */
export async function listPayments(
  request: PaymentListRequest,
  dependencies: OperatorDependencies
): Promise<OperatedPaymentPage> {
  const { kind, walletAddress, after, limit } = request
  const filter = readFilter(request)
  const walletAddressId =
    walletAddress === '' ? undefined : (await findWalletAddress(walletAddress, dependencies)).id
  const { database, clock } = dependencies
  const nowMs = clock.now()
  const page = await LISTS[kind](database, { ...filter, walletAddressId, after, limit, nowMs })
  return {
    payments: page.payments.map((payment) => toOperatedPayment(kind, payment, dependencies)),
    next: page.next
  }
}

function readFilter({
  kind,
  walletAddress,
  fromTime,
  untilTime,
  value,
  state,
  client,
  grantId
}: PaymentListRequest): Omit<NewestFilter, 'walletAddressId'> {
  if (state !== '' && !STATES[kind].includes(state))
    throw invalidCallField('state', `must be one of ${STATES[kind].join(', ')}`)
  if (grantId !== '') {
    if (!isUuid(grantId)) throw invalidCallField('grant_id', 'must be a lower-case UUID')
    if (kind === 'incoming') throw invalidCallField('grant_id', 'must be empty for incoming payments')
    if (walletAddress === '') throw invalidCallField('grant_id', 'needs a wallet_address')
  }
  return {
    fromMs: readInstant(fromTime, 'from_time'),
    untilMs: readInstant(untilTime, 'until_time'),
    value: value === '' ? undefined : readCallValue(value, 'value'),
    state: state === '' ? undefined : state,
    client: client === '' ? undefined : client,
    grantId: grantId === '' ? undefined : grantId
  }
}

function readInstant(time: Date | undefined, field: string): number | undefined {
  const instantMs = time?.getTime()
  if (Number.isNaN(instantMs)) throw invalidCallField(field, 'must be an instant that a date can have')
  return instantMs
}

function toOperatedPayment(
  kind: OperatedPayment['kind'],
  { path, expiresAtMs, state, failureReason, refundOf, ...payment }: ListedPayment,
  { urls, clock }: OperatorDependencies
): OperatedPayment {
  const expired = state === 'pending' && expiresAtMs !== undefined && expiresAtMs <= clock.now()
  return {
    ...payment,
    kind,
    walletAddress: urls.ofWalletAddress(path),
    state: expired ? 'expired' : state,
    refundOf: refundOf && urls.of('outgoing-payments', refundOf),
    failure: failureReason && { reason: failureReason, meaning: FAILURE_REASONS[failureReason].meaning }
  }
}
