import { PublicError } from '@open-payments-server/http-server'
import { type Clock, newId, type Random } from '@open-payments-server/runtime'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import { invalidReceiver, unknownWalletAddress } from '../../domain/errors.js'
import { acceptCreated, type CreationIdentity, identifyCreation } from '../../domain/idempotency.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { Quote } from '../../domain/quote.js'
import { type FixedAmount, quotePayment, type TermSources } from '../../domain/quoting.js'
import { type Receiver, type ReceiverDirectory, remainingRoom } from '../../domain/receiver.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddress, WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { QuoteRepository } from './repository.js'
import type { QuoteOrder } from './request.js'

/** What creating quotes needs. */
export interface CreateQuoteDeps {
  readonly repository: QuoteRepository
  readonly walletAddresses: WalletAddressDirectory
  readonly receivers: ReceiverDirectory
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
 * @throws PublicError 400 for what is wrong with the order, its receiver or its amounts; 403 when the grant does not cover
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
    (await findEarlier(identity, deps.repository)) ??
    (await keepQuote({ order, walletAddress, client, identity }, deps))
  )
}

/** A repeated request gets the quote it got, even if its receiver cannot be paid any more. */
async function findEarlier(
  identity: CreationIdentity | undefined,
  repository: QuoteRepository
): Promise<Quote | undefined> {
  if (identity === undefined) return undefined
  const earlier = await repository.findCreated(identity.idempotencyHash)
  return earlier === undefined ? undefined : acceptCreated(earlier, identity).quote
}

async function keepQuote(
  request: {
    order: QuoteOrder
    walletAddress: WalletAddress
    client: string
    identity: CreationIdentity | undefined
  },
  deps: CreateQuoteDeps
): Promise<Quote> {
  const { order, walletAddress, client, identity } = request
  const receiver = await deps.receivers.find(order.receiver)
  if (receiver === undefined) throw invalidReceiver()
  const nowMs = deps.clock.now()
  const fixed = order.fixed ?? missingAmount(receiver, nowMs)
  const amounts = await quotePayment({ sender: walletAddress, receiver, fixed, nowMs }, deps.termSources)
  const id = newId(deps.clock, deps.random)
  const stored = await deps.repository.create({
    id,
    identity,
    walletAddressId: walletAddress.id,
    client,
    receiver: receiver.url,
    amounts,
    receiveAssetId: receiver.assetId,
    method: order.method,
    expiresAtMs: nowMs + deps.lifetimeSeconds * 1_000,
    createdAtMs: nowMs
  })
  const { quote } = acceptCreated(stored, identity)
  if (quote.id === id) deps.counters.countCreated('quote')
  return quote
}

/**
 * What a receiver still lacks, for an order that names no amount.
 *
 * @throws PublicError 400 `invalid receiver` for a receiver without an `incomingAmount`, or one that takes nothing more
 */
function missingAmount(receiver: Receiver, nowMs: number): FixedAmount {
  if (receiver.incomingValue === undefined) {
    throw new PublicError({
      status: 400,
      code: '400',
      description: 'invalid receiver',
      details: { receiver: 'it has no incomingAmount: a receiveAmount or a debitAmount is required' }
    })
  }
  const value = remainingRoom(receiver, nowMs)
  return { side: 'receive', amount: { value, asset: receiver.asset } }
}
