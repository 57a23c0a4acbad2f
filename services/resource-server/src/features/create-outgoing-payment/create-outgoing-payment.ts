import { isUnavailable } from '@open-payments-server/database'
import type { Clock, Logger } from '@open-payments-server/runtime'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import {
  differentRequest,
  inactiveToken,
  insufficientGrant,
  invalidQuote,
  invalidReceiver,
  overLimits,
  temporarilyUnavailable,
  unknownWalletAddress
} from '../../domain/errors.js'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { PaymentIdentity } from '../../domain/payment-identity.js'
import {
  AuthServerUnavailable,
  type GrantLimits,
  type RefusalReason,
  type ReservationOutcome
} from '../../domain/ports.js'
import type { TermSources } from '../../domain/quoting.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddress, WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { RememberedReceivers } from './remembered-receivers.js'
import type { OutgoingPaymentRepository } from './repository.js'
import type { OutgoingPaymentOrder } from './request.js'
import { type PaymentTerms, termsOfIncomingPayment, termsOfQuote } from './terms.js'

/** What creating outgoing payments needs. */
export interface CreateOutgoingPaymentDeps {
  readonly repository: OutgoingPaymentRepository
  readonly walletAddresses: WalletAddressDirectory
  readonly receivers: RememberedReceivers
  readonly termSources: TermSources
  readonly grantLimits: GrantLimits
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly logger: Logger
  /** Says that there is a payment to process. */
  readonly onPaymentCreated: () => void
  /** Says that there is an outcome to deliver to the auth server. */
  readonly onReservationEnded: () => void
}

/** A request to create an outgoing payment, read. */
export interface CreationRequest {
  readonly authorized: AuthorizedRequest
  readonly order: OutgoingPaymentOrder
  readonly identity: PaymentIdentity
}

/** A request whose terms are known. */
interface PricedRequest extends CreationRequest {
  readonly walletAddress: WalletAddress
  readonly terms: PaymentTerms
}

/**
 * Creates an outgoing payment (interface 4.3): reserve, then persist. The same request again gets the same payment.
 *
 * @throws PublicError 400 for what is wrong with the request, its quote or its receiver; 403 when the grant does not cover
 *   the payment or has no room for it; 422 when its idempotency key belongs to another request; 503 when it is not
 *   known whether the grant has room: then nothing is spent
 */
export async function createOutgoingPayment(
  request: CreationRequest,
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment> {
  const { order, authorized } = request
  const walletAddress = await deps.walletAddresses.findByUrl(order.walletAddress)
  if (walletAddress === undefined) throw unknownWalletAddress('walletAddress')
  requireReach(authorized, 'outgoing-payment', 'create', walletAddress.url)
  try {
    return await createForWalletAddress(request, walletAddress, deps)
  } catch (error) {
    // What stands in the way now says nothing of the first time: the receiver may be full because this very request paid it.
    const earlier = await findEarlier(request, deps)
    if (earlier === undefined) throw error
    return earlier
  }
}

async function createForWalletAddress(
  request: CreationRequest,
  walletAddress: WalletAddress,
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment> {
  const { order, authorized, identity } = request
  const payer = { walletAddress, client: authorized.client, nowMs: deps.clock.now() }
  const terms =
    order.form === 'quote'
      ? await termsOfQuote(order, payer, { quotes: deps.repository, urls: deps.urls })
      : await termsOfIncomingPayment(order, payer, deps)

  for (const paymentId of identity.paymentIds) {
    const payment = await reserveAndPersist({ ...request, walletAddress, terms }, paymentId, deps)
    if (payment !== undefined) return payment
  }
  throw temporarilyUnavailable(new Error('every id that the request may get was given up'))
}

/** @returns undefined when the id was given up before and the next one may be used */
async function reserveAndPersist(
  request: PricedRequest,
  paymentId: string,
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment | undefined> {
  const reservation = await reserve(request, paymentId, deps)
  if (reservation.outcome === 'reserved') return persist(request, paymentId, reservation, deps)
  if (reservation.outcome === 'mismatch') throw differentRequest()
  if (reservation.reason !== 'released') throw refusal(reservation.reason)
  // The reservation may have ended with its payment since this very request was first answered.
  return findTwin(request, [paymentId], deps)
}

async function reserve(
  { authorized, walletAddress, terms }: PricedRequest,
  paymentId: string,
  deps: CreateOutgoingPaymentDeps
): Promise<ReservationOutcome> {
  try {
    return await deps.grantLimits.reserve({
      paymentId,
      accessToken: authorized.accessToken,
      walletAddress: walletAddress.url,
      receiver: terms.receiver.url,
      debitAmount: { value: terms.amounts.debit, asset: walletAddress.asset },
      receiveAmount: { value: terms.amounts.receive, asset: terms.receiver.asset }
    })
  } catch (error) {
    // Whether there is a reservation is not known. Without a payment it must not stay.
    await giveUp(paymentId, deps)
    if (error instanceof AuthServerUnavailable) throw temporarilyUnavailable(error)
    throw error
  }
}

async function persist(
  request: PricedRequest,
  paymentId: string,
  reserved: Extract<ReservationOutcome, { outcome: 'reserved' }>,
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment> {
  const { authorized, identity, walletAddress, terms, order } = request
  // Taken as late as can be: a list that was read up to the newest payment must not miss one that is older and yet to come.
  const nowMs = deps.clock.now()
  const grantSpentDebitValue = reserved.spentDebitAmount.value
  const grantSpentReceiveValue = reserved.spentReceiveAmount.value
  const persisting = deps.repository.persist({
    id: paymentId,
    signatureId: identity.signatureId,
    requestHash: identity.requestHash,
    walletAddressId: walletAddress.id,
    accountId: walletAddress.accountId,
    client: authorized.client,
    grantId: reserved.grantId,
    terms,
    grantSpentDebitValue,
    grantSpentReceiveValue,
    metadata: order.metadata,
    createdAtMs: nowMs
  })
  const result = await persisting.catch((error: unknown) => ({ outcome: 'uncertain' as const, error }))
  switch (result.outcome) {
    case 'persisted':
      deps.onPaymentCreated()
      return {
        id: paymentId,
        walletAddressUrl: walletAddress.url,
        client: authorized.client,
        quoteId: terms.quoteId,
        receiver: terms.receiver.url,
        debitAsset: walletAddress.asset,
        debitValue: terms.amounts.debit,
        receiveAsset: terms.receiver.asset,
        receiveValue: terms.amounts.receive,
        state: 'pending',
        sentValue: 0n,
        grantSpentDebitValue,
        grantSpentReceiveValue,
        metadata: result.metadata,
        createdAtMs: nowMs,
        updatedAtMs: nowMs
      }
    case 'receiver-not-payable':
      deps.onReservationEnded()
      deps.receivers.forget(terms.receiver.url)
      // A quote that was used has most likely filled its receiver: the quote is what is wrong with the request.
      if (terms.quoteId !== undefined && (await deps.repository.isQuoteUsed(terms.quoteId)))
        throw invalidQuote()
      throw invalidReceiver()
    case 'taken':
      return answerTaken(request, paymentId, deps)
    case 'uncertain':
      return answerUncertain(request, paymentId, result.error, deps)
  }
}

/** Something of the payment is taken: by the same request, by another one under its key, or its quote by another. */
async function answerTaken(
  request: PricedRequest,
  paymentId: string,
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment> {
  const twin = await findTwin(request, [paymentId], deps)
  if (twin?.id === paymentId) return twin
  // No payment has this id, so that its reservation must go, whoever has the rest.
  await giveUp(paymentId, deps)
  if (twin !== undefined) return twin
  const { quoteId } = request.terms
  if (quoteId !== undefined && (await deps.repository.isQuoteUsed(quoteId))) throw invalidQuote()
  throw temporarilyUnavailable(new Error('the payment id was given up while the request was running'))
}

/** The database did not say whether the payment is persisted. A tombstone settles it, whichever comes first. */
async function answerUncertain(
  request: PricedRequest,
  paymentId: string,
  error: unknown,
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment> {
  if (!(await giveUp(paymentId, deps))) {
    const twin = await findTwin(request, [paymentId], deps).catch(() => undefined)
    if (twin !== undefined) {
      deps.onPaymentCreated()
      return twin
    }
  }
  throw isUnavailable(error) ? temporarilyUnavailable(error) : error
}

/**
 * The payment that the same request made before.
 *
 * @throws PublicError 422 when the payment was made by another request
 */
async function findTwin(
  { authorized, identity }: CreationRequest,
  paymentIds: readonly string[],
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment | undefined> {
  const found = await deps.repository.findTwin(paymentIds, identity.signatureId)
  if (found === undefined) return undefined
  const same = found.payment.client === authorized.client && found.requestHash.equals(identity.requestHash)
  if (!same) throw differentRequest()
  return found.payment
}

/** The payment that the same request made before, under whichever of its ids. */
function findEarlier(
  request: CreationRequest,
  deps: CreateOutgoingPaymentDeps
): Promise<OutgoingPayment | undefined> {
  return findTwin(request, request.identity.paymentIds, deps)
}

/**
 * Makes sure that no payment is created under an id and that its reservation is released.
 *
 * @returns false when that could not be recorded, or a payment has the id. The sweeper finds what is left behind
 */
async function giveUp(paymentId: string, deps: CreateOutgoingPaymentDeps): Promise<boolean> {
  try {
    const recorded = await deps.repository.giveUp(paymentId)
    if (recorded) deps.onReservationEnded()
    return recorded
  } catch (error) {
    deps.logger.warn({ err: error, paymentId }, 'release not recorded; left to the sweeper')
    return false
  }
}

function refusal(reason: Exclude<RefusalReason, 'released'>): Error {
  switch (reason) {
    case 'token-inactive':
      return inactiveToken()
    case 'insufficient-grant':
      return insufficientGrant()
    case 'limit-exceeded':
    case 'outside-interval':
      return overLimits()
  }
}
