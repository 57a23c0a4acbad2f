import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import type { QuotedAmounts } from '@open-payments-server/value-types/amounts'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import { accountFrozen, invalidReceiver, unknownWalletAddress } from '../../domain/errors.js'
import { acceptCreated, type CreationIdentity, identifyCreation } from '../../domain/idempotency.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { Quote, RememberedQuotes } from '../../domain/quote.js'
import { methodTowards, type OutgoingMethod, type SendingTerms } from '../../domain/outgoing-method.js'
import { quotePayment, type TermSources } from '../../domain/quoting.js'
import {
  missingAmount,
  type Receiver,
  type ReceiverDirectory,
  type RememberedReceivers
} from '../../domain/receiver.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddress, WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { QuoteStore, StoredQuote } from '../../modules/quotes/index.js'
import type { QuoteOrder } from './request.js'

/** What creating quotes needs. */
export interface CreateQuoteDependencies {
  readonly store: QuoteStore
  /** Whether a wallet address (UUID) is frozen. */
  readonly isFrozen: (walletAddressId: string) => Promise<boolean>
  readonly walletAddresses: WalletAddressDirectory
  readonly receivers: ReceiverDirectory
  readonly rememberedReceivers: RememberedReceivers
  readonly rememberedQuotes: Pick<RememberedQuotes, 'remember'>
  readonly termSources: TermSources
  readonly urls: ResourceUrls
  /** How receivers at other providers are paid; undefined: they are not. */
  readonly outgoingMethod: OutgoingMethod | undefined
  readonly clock: Clock
  readonly random: Random
  /** How long a quote may be used, in seconds. */
  readonly lifetimeSeconds: number
  readonly counters: Pick<PaymentCounters, 'countCreated'>
}

/** A request to create a quote, read. */
export interface CreationRequest {
  readonly authorized: Pick<
    AuthorizedRequest,
    'access' | 'client' | 'grantId' | 'body' | 'consentedWalletAddress'
  >
  readonly order: QuoteOrder
  readonly idempotencyKey: string | undefined
}

/**
 * Creates a quote, or returns the one that the same request created before.
 *
 * @throws Refusal for errors in the order, its receiver or its amounts; `insufficient-grant` when the grant does not cover
 *   the wallet address; `frozen` when that is frozen; 409 and 422 when its idempotency key belongs to another request; 503 when no rate is available
 */
export async function createQuote(
  { authorized, order, idempotencyKey }: CreationRequest,
  dependencies: CreateQuoteDependencies
): Promise<Quote> {
  const walletAddress = await dependencies.walletAddresses.findByUrl(order.walletAddress)
  if (walletAddress === undefined) throw unknownWalletAddress('walletAddress')
  requireReach(authorized, 'quote', 'create', walletAddress.url)
  const { client, grantId } = authorized
  const content = [authorized.body ?? '']
  const identity = identifyCreation({ client, grantId, idempotencyKey, content })
  const isConsented = authorized.consentedWalletAddress === walletAddress.url
  return (
    (await findEarlier(identity, dependencies.store)) ??
    (await quote({ order, walletAddress, isConsented, client, identity }, dependencies))
  )
}

/** A repeated request gets its quote, even if its receiver can no longer be paid. */
async function findEarlier(
  identity: CreationIdentity | undefined,
  store: QuoteStore
): Promise<Quote | undefined> {
  if (identity === undefined) return undefined
  const earlier = await store.findCreated(identity.idempotencyHash)
  return earlier === undefined ? undefined : acceptCreated(earlier, identity).quote
}

/** A request for which nothing was created, as far as is known. */
interface QuoteRequest {
  readonly order: QuoteOrder
  readonly walletAddress: WalletAddress
  /** Whether the wallet address's account holder consented to the grant. */
  readonly isConsented: boolean
  readonly client: string
  readonly identity: CreationIdentity | undefined
}

async function quote(request: QuoteRequest, dependencies: CreateQuoteDependencies): Promise<Quote> {
  const { order, identity } = request
  if (dependencies.urls.idOf('incoming-payments', order.receiver) === undefined) {
    return quoteElsewhere(request, dependencies)
  }
  const kept = await quoteFromMemory(request, dependencies)
  if (kept !== undefined) return acceptCreated(kept, identity).quote
  const receiver = await dependencies.receivers.find(order.receiver)
  if (receiver === undefined) throw invalidReceiver()
  const nowMs = dependencies.clock.now()
  const fixed = order.fixed ?? { side: 'receive', amount: missingAmount(receiver, nowMs) }
  const sender = request.walletAddress
  const { amounts, refusal } = await quotePayment(
    { sender, receiver, fixed, nowMs },
    dependencies.termSources
  )
  if (refusal !== undefined) throw refusal
  const terms = { receiver, amounts, nowMs, roomIn: undefined, sending: undefined }
  return keepOrRefuse({ ...request, ...terms }, dependencies)
}

/** A quote to a receiver that is hosted elsewhere. */
async function quoteElsewhere(request: QuoteRequest, dependencies: CreateQuoteDependencies): Promise<Quote> {
  const { order } = request
  const method = methodTowards(order.receiver, dependencies)
  const { amounts, receiveAsset, receiveAssetId, sending } = await method.price({
    sender: request.walletAddress,
    receiver: order.receiver,
    fixed: order.fixed
  })
  const receiver = { url: order.receiver, asset: receiveAsset, assetId: receiveAssetId }
  const nowMs = dependencies.clock.now()
  return keepOrRefuse({ ...request, receiver, amounts, nowMs, roomIn: undefined, sending }, dependencies)
}

/** @throws Refusal `frozen` when the wallet address is; 409 and 422 when its idempotency key belongs to another request */
async function keepOrRefuse(request: PricedQuote, dependencies: CreateQuoteDependencies): Promise<Quote> {
  const { walletAddress, isConsented, identity } = request
  const stored = await keepQuote(request, dependencies)
  if (stored === undefined && (await dependencies.isFrozen(walletAddress.id)))
    throw accountFrozen(isConsented)
  return acceptCreated(stored, identity).quote
}

/**
 * Uses the cached receiver, and leaves the check for room to the statement that stores the quote: one statement instead of
 * two.
 *
 * @returns undefined when that fails, for whatever reason: reading the receiver tells which
 * @throws Refusal `not-payable` when there is none
 */
async function quoteFromMemory(
  request: QuoteRequest,
  dependencies: CreateQuoteDependencies
): Promise<StoredQuote | undefined> {
  const { receiver: url, fixed } = request.order
  // What it still lacks is not cached.
  if (fixed === undefined) return undefined
  const receiver = await dependencies.rememberedReceivers.find(url)
  if (receiver === undefined) throw invalidReceiver()
  const nowMs = dependencies.clock.now()
  const sender = request.walletAddress
  const { amounts } = await quotePayment({ sender, receiver, fixed, nowMs }, dependencies.termSources)
  if (amounts === undefined) return undefined
  const roomIn = receiver.incomingPaymentId
  const terms = { receiver, amounts, nowMs, roomIn, sending: undefined }
  const kept = await keepQuote({ ...request, ...terms }, dependencies)
  if (kept === undefined) dependencies.rememberedReceivers.forget(url)
  return kept
}

/** A request whose amounts are known. */
interface PricedQuote extends QuoteRequest {
  readonly receiver: Pick<Receiver, 'url' | 'asset' | 'assetId'>
  readonly amounts: QuotedAmounts
  readonly nowMs: number
  /** Id (UUID) of the incoming payment whose room the statement checks that stores the quote. */
  readonly roomIn: string | undefined
  /** undefined for a receiver that is hosted here. */
  readonly sending: SendingTerms | undefined
}

async function keepQuote(
  request: PricedQuote,
  dependencies: CreateQuoteDependencies
): Promise<StoredQuote | undefined> {
  const { order, walletAddress, client, identity, receiver, amounts, nowMs, roomIn, sending } = request
  const id = newId(dependencies.clock, dependencies.random)
  const stored = await dependencies.store.create({
    quote: {
      id,
      walletAddressUrl: walletAddress.url,
      client,
      receiver: receiver.url,
      debitAsset: walletAddress.asset,
      debitValue: amounts.debitValue,
      receiveAsset: receiver.asset,
      receiveValue: amounts.receiveValue,
      method: order.method,
      expiresAtMs: nowMs + dependencies.lifetimeSeconds * 1_000,
      createdAtMs: nowMs
    },
    identity,
    walletAddressId: walletAddress.id,
    receiveAssetId: receiver.assetId,
    feeValue: amounts.feeValue,
    roomIn,
    sending
  })
  if (stored?.quote.id === id) {
    dependencies.counters.countCreated('quote')
    dependencies.rememberedQuotes.remember(id, {
      walletAddressId: walletAddress.id,
      client,
      receiver: receiver.url,
      amounts,
      receiveAsset: receiver.asset,
      receiveAssetId: receiver.assetId,
      sending,
      expiresAtMs: stored.quote.expiresAtMs
    })
  }
  return stored
}
