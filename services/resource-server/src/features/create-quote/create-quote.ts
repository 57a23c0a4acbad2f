import { type Clock, newId, type Random } from '@open-payments-server/runtime'
import type { QuotedAmounts } from '@open-payments-server/value-types/amounts'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import { invalidReceiver, unknownWalletAddress, amountMissing } from '../../domain/errors.js'
import { acceptCreated, type CreationIdentity, identifyCreation } from '../../domain/idempotency.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { Quote, RememberedQuotes } from '../../domain/quote.js'
import { type FixedAmount, quotePayment, type TermSources } from '../../domain/quoting.js'
import {
  type Receiver,
  type ReceiverDirectory,
  type RememberedReceivers,
  remainingRoom
} from '../../domain/receiver.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddress, WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { QuoteStore, StoredQuote } from '../../modules/quotes/index.js'
import type { QuoteOrder } from './request.js'

/** What creating quotes needs. */
export interface CreateQuoteDeps {
  readonly store: QuoteStore
  readonly walletAddresses: WalletAddressDirectory
  readonly receivers: ReceiverDirectory
  readonly rememberedReceivers: RememberedReceivers
  readonly rememberedQuotes: Pick<RememberedQuotes, 'remember'>
  readonly termSources: TermSources
  readonly clock: Clock
  readonly random: Random
  /** How long a quote may be used, in seconds. */
  readonly lifetimeSeconds: number
  readonly counters: Pick<PaymentCounters, 'countCreated'>
}

/** A request to create a quote, read. */
export interface CreationRequest {
  readonly authorized: Pick<AuthorizedRequest, 'access' | 'client' | 'body'>
  readonly order: QuoteOrder
  readonly idempotencyKey: string | undefined
}

/**
 * Creates a quote, or answers with the one that the same request created before.
 *
 * @throws Refusal for what is wrong with the order, its receiver or its amounts; `insufficient-grant` when the grant does not cover
 *   the wallet address; 409 and 422 when its idempotency key belongs to another request; 503 when no rate can be had
 */
export async function createQuote(
  { authorized, order, idempotencyKey }: CreationRequest,
  deps: CreateQuoteDeps
): Promise<Quote> {
  const walletAddress = await deps.walletAddresses.findByUrl(order.walletAddress)
  if (walletAddress === undefined) throw unknownWalletAddress('walletAddress')
  requireReach(authorized, 'quote', 'create', walletAddress.url)
  const { client } = authorized
  const content = [authorized.body ?? '']
  const identity = identifyCreation({ client, idempotencyKey, content })
  return (
    (await findEarlier(identity, deps.store)) ??
    (await quote({ order, walletAddress, client, identity }, deps))
  )
}

/** A repeated request gets the quote it got, even if its receiver cannot be paid any more. */
async function findEarlier(
  identity: CreationIdentity | undefined,
  store: QuoteStore
): Promise<Quote | undefined> {
  if (identity === undefined) return undefined
  const earlier = await store.findCreated(identity.idempotencyHash)
  return earlier === undefined ? undefined : acceptCreated(earlier, identity).quote
}

/** A request that nothing was created for, as far as is known. */
interface QuoteRequest {
  readonly order: QuoteOrder
  readonly walletAddress: WalletAddress
  readonly client: string
  readonly identity: CreationIdentity | undefined
}

async function quote(request: QuoteRequest, deps: CreateQuoteDeps): Promise<Quote> {
  const { order, identity } = request
  const kept = await quoteFromMemory(request, deps)
  if (kept !== undefined) return acceptCreated(kept, identity).quote
  const receiver = await deps.receivers.find(order.receiver)
  if (receiver === undefined) throw invalidReceiver()
  const nowMs = deps.clock.now()
  const fixed = order.fixed ?? missingAmount(receiver, nowMs)
  const sender = request.walletAddress
  const { amounts, refusal } = await quotePayment({ sender, receiver, fixed, nowMs }, deps.termSources)
  if (refusal !== undefined) throw refusal
  const stored = await keepQuote({ ...request, receiver, amounts, nowMs, roomIn: undefined }, deps)
  return acceptCreated(stored, identity).quote
}

/**
 * Goes by what is remembered of the receiver, and leaves to the statement that keeps the quote whether it has room: one
 * statement where there would be two.
 *
 * @returns undefined when that comes to nothing, for whatever reason: a look at the receiver tells which
 * @throws Refusal `not-payable` when there is none
 */
async function quoteFromMemory(
  request: QuoteRequest,
  deps: CreateQuoteDeps
): Promise<StoredQuote | undefined> {
  const { receiver: url, fixed } = request.order
  // What it still lacks is not remembered.
  if (fixed === undefined) return undefined
  const receiver = await deps.rememberedReceivers.find(url)
  if (receiver === undefined) throw invalidReceiver()
  const nowMs = deps.clock.now()
  const sender = request.walletAddress
  const { amounts } = await quotePayment({ sender, receiver, fixed, nowMs }, deps.termSources)
  if (amounts === undefined) return undefined
  const roomIn = receiver.incomingPaymentId
  const kept = await keepQuote({ ...request, receiver, amounts, nowMs, roomIn }, deps)
  if (kept === undefined) deps.rememberedReceivers.forget(url)
  return kept
}

async function keepQuote(
  request: QuoteRequest & {
    readonly receiver: Receiver
    readonly amounts: QuotedAmounts
    readonly nowMs: number
    readonly roomIn: string | undefined
  },
  deps: CreateQuoteDeps
): Promise<StoredQuote | undefined> {
  const { order, walletAddress, client, identity, receiver, amounts, nowMs, roomIn } = request
  const id = newId(deps.clock, deps.random)
  const stored = await deps.store.create({
    quote: {
      id,
      walletAddressUrl: walletAddress.url,
      client,
      receiver: receiver.url,
      debitAsset: walletAddress.asset,
      debitValue: amounts.debit,
      receiveAsset: receiver.asset,
      receiveValue: amounts.receive,
      method: order.method,
      expiresAtMs: nowMs + deps.lifetimeSeconds * 1_000,
      createdAtMs: nowMs
    },
    identity,
    walletAddressId: walletAddress.id,
    receiveAssetId: receiver.assetId,
    feeValue: amounts.fee,
    roomIn
  })
  if (stored?.quote.id === id) {
    deps.counters.countCreated('quote')
    deps.rememberedQuotes.remember(id, {
      walletAddressId: walletAddress.id,
      client,
      receiver: receiver.url,
      amounts,
      receiveAsset: receiver.asset,
      receiveAssetId: receiver.assetId,
      expiresAtMs: stored.quote.expiresAtMs
    })
  }
  return stored
}

/**
 * What a receiver still lacks, for an order that names no amount.
 *
 * @throws Refusal `not-payable` for a receiver without an `incomingAmount`, or one that takes nothing more
 */
function missingAmount(receiver: Receiver, nowMs: number): FixedAmount {
  if (receiver.incomingValue === undefined) {
    throw amountMissing()
  }
  const value = remainingRoom(receiver, nowMs)
  return { side: 'receive', amount: { value, asset: receiver.asset } }
}
