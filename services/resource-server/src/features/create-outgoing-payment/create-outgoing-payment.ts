import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import {
  accountFrozen,
  clientFrozen,
  conflict,
  differentRequest,
  grantPaused,
  inactiveToken,
  insufficientGrant,
  invalidQuote,
  invalidReceiver,
  overLimits,
  ResultUnknown,
  temporarilyUnavailable,
  unknownWalletAddress
} from '../../domain/errors.js'
import type { RequestCause } from '../../domain/given-up.js'
import type { OutgoingMethod } from '../../domain/outgoing-method.js'
import type { OutgoingPayment, PaymentTerms } from '../../domain/outgoing-payment.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { PaymentIdentity } from '../../domain/payment-identity.js'
import { isStaleCharge } from '../../domain/payment-instants.js'
import type { GrantLimits, ReserveResult } from '../../domain/ports.js'
import type { RememberedQuotes } from '../../domain/quote.js'
import type { TermSources } from '../../domain/quoting.js'
import type { RememberedReceivers } from '../../domain/receiver.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddress, WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { Queries } from '../../modules/database.js'
import { isTaken } from '../../modules/grant-outcomes/index.js'
import * as outgoingPayments from '../../modules/outgoing-payments/index.js'
import type { FoundPayment, NewPayment } from '../../modules/outgoing-payments/index.js'
import type { PayableQuotes } from '../../modules/quotes/index.js'
import { meetTimeline, readTimelineChange } from '../../modules/timeline/index.js'
import type { PersistResult } from './persist.js'
import type { OutgoingPaymentOrder } from './request.js'
import { readRefund, type RefundOrder } from './refund-of.js'
import { termsOfIncomingPayment, termsOfQuote } from './terms.js'
import { untilAnswered, type UntilAnswered } from './until-answered.js'

/** What creating outgoing payments needs. */
export interface CreateOutgoingPaymentDependencies {
  readonly database: Queries
  /** Whether a promoted server has every commit that was answered: DATABASE_DURABILITY. */
  readonly keepsCommits: boolean
  /** Persists a payment, its entry among the outcomes and the hold on its debit. */
  readonly persist: (payment: NewPayment) => Promise<PersistResult>
  readonly quotes: PayableQuotes
  readonly walletAddresses: WalletAddressDirectory
  readonly receivers: RememberedReceivers
  readonly rememberedQuotes: RememberedQuotes
  readonly termSources: TermSources
  /** How receivers at other providers are paid; undefined: they are not. */
  readonly outgoingMethod: OutgoingMethod | undefined
  /** How long terms stand that no quote has, in seconds. */
  readonly quoteLifetimeSeconds: number
  readonly grantLimits: GrantLimits
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly logger: Logger
  /** Signals that there is a payment to process: with these terms, or of any kind. */
  readonly onPaymentCreated: (terms?: Pick<PaymentTerms, 'sending'>) => void
  /** Signals that there is an outcome to deliver to the auth server. */
  readonly onReservationEnded: () => void
  readonly counters: Pick<PaymentCounters, 'countCreated' | 'countGivenUp'>
}

/** A request to create an outgoing payment, read. */
export interface CreationRequest {
  readonly authorized: AuthorizedRequest
  readonly order: OutgoingPaymentOrder
  readonly identity: PaymentIdentity
}

/** What one request needs. */
interface Context extends CreateOutgoingPaymentDependencies {
  readonly untilAnswered: UntilAnswered
}

/** A reservation that is there. */
type Reserved = Extract<ReserveResult, { kind: 'reserved' }>

/** A reservation that there was no room for. */
type Refused = Extract<ReserveResult, { kind: 'refused' }>

/** A request whose terms are known. */
interface PricedRequest extends CreationRequest {
  readonly walletAddress: WalletAddress
  readonly terms: PaymentTerms
  readonly refunds: RefundOrder
}

/**
 * Creates an outgoing payment (interface 4.3): reserve, then persist. A repeated request gets the same payment.
 *
 * After an error, the request has no payment, and this call has left nothing behind that could become one. If that is
 * unknown, there is no answer.
 *
 * @throws Refusal for errors in the request, its quote, its receiver or what it refunds; `insufficient-grant` when the grant does
 *   not cover the payment or has no room for it; `frozen` when who pays, or the client, is frozen, or the grant is paused; 409 when the same request is
 *   running at another rate; 422 when its idempotency key
 *   belongs to another request
 * @throws AuthServerUnavailable when it is unknown whether the grant has room: then nothing is spent
 * @throws ResultUnknown when the database does not tell whether there is a payment
 */
export async function createOutgoingPayment(
  request: CreationRequest,
  dependencies: CreateOutgoingPaymentDependencies
): Promise<OutgoingPayment> {
  const { order, authorized, identity } = request
  const context = {
    ...dependencies,
    untilAnswered: untilAnswered(identity.paymentIds[0], dependencies.logger)
  }
  // Asked repeatedly, because an error would already state that there is no payment.
  const walletAddress = await context.untilAnswered(() =>
    dependencies.walletAddresses.findByUrl(order.walletAddress)
  )
  if (walletAddress === undefined) throw unknownWalletAddress('walletAddress')
  requireReach(authorized, 'outgoing-payment', 'create', walletAddress.url)
  try {
    return await createForWalletAddress(request, walletAddress, context)
  } catch (error) {
    if (error instanceof ResultUnknown) throw error
    // An obstacle now says nothing about an earlier attempt: the receiver may be full because this request already paid it.
    const earlier = await findEarlier(request, context)
    if (earlier === undefined) throw error
    return earlier
  }
}

async function createForWalletAddress(
  request: CreationRequest,
  walletAddress: WalletAddress,
  context: Context
): Promise<OutgoingPayment> {
  const { order, authorized, identity } = request
  const payer = { walletAddress, client: authorized.client, nowMs: context.clock.now() }
  const terms =
    order.form === 'quote'
      ? await termsOfQuote(order, payer, context)
      : await termsOfIncomingPayment(order, payer, context)
  const refunds = await readRefund(order, { walletAddress, terms }, context)

  for (const paymentId of identity.paymentIds) {
    const payment = await reserveAndPersist({ ...request, walletAddress, terms, refunds }, paymentId, context)
    if (payment !== undefined) return payment
  }
  throw temporarilyUnavailable(new Error('every id that the request may get was given up'))
}

/** @returns undefined when the id was given up before and the next one may be used */
async function reserveAndPersist(
  request: PricedRequest,
  paymentId: string,
  context: Context
): Promise<OutgoingPayment | undefined> {
  const reservation = await reserve(request, paymentId, context)
  if (reservation.kind === 'reserved') {
    await refuseStaleCharge(reservation, paymentId, request.identity, context)
    return persist(request, paymentId, reservation, context)
  }
  if (reservation.kind !== 'refused') throw await taken(reservation.kind, paymentId, context)
  const { reason } = reservation
  if (reason !== 'released') {
    // This is checked first: the payment that used the quote has most likely spent what the grant lacks.
    throw (await isQuoteUsed(request.terms, context)) ? invalidQuote() : refusal(reason, reservation)
  }
  // The reservation may have ended with its payment since this request was first answered.
  return findEarlier(request, context)
}

async function reserve(
  { authorized, identity, walletAddress, terms }: PricedRequest,
  paymentId: string,
  context: Context
): Promise<ReserveResult> {
  try {
    return await context.grantLimits.reserve({
      paymentId,
      accessToken: authorized.accessToken,
      walletAddress: walletAddress.url,
      receiver: terms.receiver.url,
      debitAmount: { value: terms.amounts.debitValue, asset: walletAddress.asset },
      receiveAmount: { value: terms.amounts.receiveValue, asset: terms.receiver.asset },
      requestHash: identity.requestHash
    })
  } catch (error) {
    // It is unknown whether there is a reservation. Without a payment it must not stay.
    await giveUp(paymentId, 'reservation-unknown', identity, context)
    throw error
  }
}

/**
 * Gives up an id whose reservation was charged too long ago, unless its payment may have been lost in a failover: then the
 * repeated request restores it.
 *
 * @throws Refusal `unavailable`: the request gets the next id once the release is delivered
 */
async function refuseStaleCharge(
  { chargedAtMs }: Reserved,
  paymentId: string,
  identity: PaymentIdentity,
  context: Context
): Promise<void> {
  if (!isStaleCharge(chargedAtMs, context.clock.now())) return
  const changedAtMs = await context.untilAnswered(async () => {
    await meetTimeline(context.database, context.keepsCommits)
    return readTimelineChange(context.database)
  })
  if (chargedAtMs < changedAtMs) return
  await giveUp(paymentId, 'charge-stale', identity, context)
  throw temporarilyUnavailable(new Error('the payment was charged too long ago to be persisted'))
}

/**
 * The id is bound to another request under the same key, for good, or reserved by this one at another rate. In the latter
 * case, if it was given up since, the next id can be used once its release is delivered. A reservation left by a crash
 * counts as running until the sweeper gives its id up.
 */
async function taken(
  by: 'mismatch' | 'other-amounts',
  paymentId: string,
  { database }: Context
): Promise<Error> {
  if (by === 'mismatch') return differentRequest()
  return (await isTaken(database, paymentId))
    ? temporarilyUnavailable(new Error('the release of the payment id is not delivered yet'))
    : conflict('the same request is still running')
}

async function persist(
  request: PricedRequest,
  paymentId: string,
  reserved: Reserved,
  context: Context
): Promise<OutgoingPayment> {
  const { authorized, identity, walletAddress, terms, order, refunds } = request
  const grantSpentDebitValue = reserved.spentDebitAmount.value
  const grantSpentReceiveValue = reserved.spentReceiveAmount.value
  const payment: NewPayment = {
    id: paymentId,
    signatureId: identity.signatureId,
    requestHash: identity.requestHash,
    walletAddressId: walletAddress.id,
    accountId: walletAddress.accountId,
    client: authorized.client,
    grantId: reserved.grantId,
    terms,
    ...refunds,
    grantSpentDebitValue,
    grantSpentReceiveValue,
    chargedAtMs: reserved.chargedAtMs,
    unpayableCause: causeOf(reserved, 'receiver-not-payable')
  }
  const result = await persistOrGiveUp(payment, causeOf(reserved, 'persist-failed'), identity, context)
  switch (result.kind) {
    case 'persisted':
      context.counters.countCreated('outgoing-payment')
      context.onPaymentCreated(terms)
      return {
        id: paymentId,
        walletAddressUrl: walletAddress.url,
        client: authorized.client,
        quoteId: terms.quoteId,
        receiver: terms.receiver.url,
        debitAsset: walletAddress.asset,
        debitValue: terms.amounts.debitValue,
        receiveAsset: terms.receiver.asset,
        receiveValue: terms.amounts.receiveValue,
        state: result.state,
        failureReason: undefined,
        settledDebitValue: 0n,
        refundOf: refunds.refund?.refundOf,
        refundedValue: 0n,
        refunds: [],
        grantSpentDebitValue,
        grantSpentReceiveValue,
        metadata: result.metadata,
        createdAtMs: result.createdAtMs,
        updatedAtMs: result.createdAtMs
      }
    case 'receiver-not-payable':
      context.counters.countGivenUp(payment.unpayableCause)
      context.onReservationEnded()
      context.receivers.forget(terms.receiver.url)
      // A used quote has most likely filled its receiver, so the quote is reported as the error.
      if (await isQuoteUsed(terms, context)) throw invalidQuote()
      // Another refund may have taken what was left.
      await readRefund(order, request, context)
      throw invalidReceiver()
    case 'account-frozen':
      context.counters.countGivenUp(causeOf(reserved, 'account-frozen'))
      context.onReservationEnded()
      throw accountFrozen(true)
    case 'taken':
      // Taken by the same request or by another one under its key, or the quote is used by another payment. Unless a
      // payment has this id, no payment may get it any more, and its reservation must be released.
      await giveUp(paymentId, causeOf(reserved, 'id-taken'), identity, context)
      throw (await isQuoteUsed(terms, context))
        ? invalidQuote()
        : temporarilyUnavailable(new Error('the payment id was given up while the request was running'))
  }
}

/** @throws the database's error; then there is a payment or a tombstone, whichever came first, and no other follows */
async function persistOrGiveUp(
  payment: NewPayment,
  cause: RequestCause,
  identity: PaymentIdentity,
  context: Context
): Promise<PersistResult> {
  try {
    return await context.persist(payment)
  } catch (error) {
    await giveUp(payment.id, cause, identity, context)
    throw error
  }
}

/** Why an id is given up. If an earlier attempt made its reservation, its payment may have been made and lost since. */
function causeOf({ wasReservedBefore }: Reserved, cause: RequestCause): RequestCause {
  return wasReservedBefore ? 'reservation-repeated' : cause
}

async function isQuoteUsed({ quoteId }: PaymentTerms, { database }: Context): Promise<boolean> {
  return quoteId !== undefined && (await outgoingPayments.isQuoteUsed(database, quoteId))
}

/**
 * Finds the payment that the same request made before, under any of its ids.
 *
 * The same signed request may come under another idempotency key, or without the one it had. Then that key must never make
 * its own payment: before the answer, it is recorded to stand for the payment that was made.
 *
 * @throws Refusal `different-request` when the payment was made by another request
 * @throws ResultUnknown
 */
async function findEarlier(request: CreationRequest, context: Context): Promise<OutgoingPayment | undefined> {
  const { identity } = request
  let found = await findTwin(request, context)
  for (const paymentId of identity.paymentIds) {
    if (found?.knownBy !== 'signature') break
    if (await giveUp(paymentId, 'id-taken', identity, context)) break
    // It was given up before, so the next id may still be used; or a payment has it by now.
    found = await findTwin(request, context)
  }
  // The request that persisted it may not have learnt that it did.
  if (found?.payment.state === 'pending') context.onPaymentCreated()
  return found?.payment
}

/** @throws Refusal `different-request` when the payment was made by another request */
async function findTwin(
  { authorized, identity }: CreationRequest,
  context: Context
): Promise<FoundPayment | undefined> {
  const { database, urls, untilAnswered } = context
  const { paymentIds: ids, signatureId } = identity
  const found = await untilAnswered(() => outgoingPayments.findTwin(database, { ids, signatureId }, urls))
  if (found === undefined) return undefined
  const same =
    found.payment.client === authorized.client &&
    found.grantId === authorized.grantId &&
    found.requestHash.equals(identity.requestHash)
  if (!same) throw differentRequest()
  return found
}

/**
 * Makes sure that no payment is created under an id from now on and that its reservation is released, unless a payment
 * already has the id. A statement that would still persist one is waited for, or fails. If the signed request has a payment
 * under another id, this id stands for that payment from now on.
 *
 * @returns whether this call gave it up
 * @throws ResultUnknown when that could not be recorded. The sweeper finds what is left behind
 */
async function giveUp(
  paymentId: string,
  cause: RequestCause,
  { signatureId }: PaymentIdentity,
  { database, untilAnswered: asked, onReservationEnded, counters }: Context
): Promise<boolean> {
  const payment = { id: paymentId, signatureId }
  const recorded = await asked(() => outgoingPayments.giveUpPayment(database, payment, cause))
  if (recorded) {
    counters.countGivenUp(cause)
    onReservationEnded()
  }
  return recorded
}

function refusal(reason: Exclude<Refused['reason'], 'released'>, details: Refused): Error {
  switch (reason) {
    case 'inactive-token':
      return inactiveToken()
    case 'insufficient-grant':
      return insufficientGrant()
    case 'client-frozen':
      return clientFrozen()
    case 'grant-paused':
      return grantPaused()
    case 'limit-exceeded':
    case 'outside-interval':
      return overLimits(details)
  }
}
