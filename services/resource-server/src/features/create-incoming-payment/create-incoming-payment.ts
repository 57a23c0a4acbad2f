import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { isSameAsset } from '@open-payments-server/value-types/amounts'
import type { AccessItem, AuthorizedRequest } from '../../domain/authorization.js'
import { accountFrozen, assetMismatch, unknownWalletAddress, invalidField } from '../../domain/errors.js'
import { acceptCreated, identifyCreation } from '../../domain/idempotency.js'
import type { CreatedIncomingPayment } from '../../domain/incoming-payment.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { requireReach } from '../../domain/visibility.js'
import { metadataBytes } from '../request-schemas.js'
import type { WalletAddress, WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { IncomingPaymentStore } from '../../modules/incoming-payments/index.js'
import type { IncomingPaymentOrder } from './request.js'

/** How far ahead a payment may expire without the account holder's consent: a year of 366 days, in milliseconds. */
const UNASKED_EXPIRY_AHEAD_MAX_MS = 366 * 86_400_000

/** Maximum size of metadata without the account holder's consent, in bytes; see {@link metadataBytes}. */
const UNASKED_METADATA_BYTES_MAX = 2_048

/** What creating incoming payments needs. */
export interface CreateIncomingPaymentDependencies {
  readonly store: IncomingPaymentStore
  /** Whether a wallet address (UUID) is frozen. */
  readonly isFrozen: (walletAddressId: string) => Promise<boolean>
  readonly walletAddresses: WalletAddressDirectory
  readonly clock: Clock
  readonly random: Random
  /** Default lifetime of a payment, in seconds from its creation. */
  readonly lifetimeSeconds: number
  readonly counters: Pick<PaymentCounters, 'countCreated'>
}

/** A request to create an incoming payment, read. */
export interface CreationRequest {
  readonly authorized: Pick<
    AuthorizedRequest,
    'access' | 'client' | 'grantId' | 'body' | 'consentedWalletAddress'
  >
  readonly order: IncomingPaymentOrder
  readonly idempotencyKey: string | undefined
}

/**
 * Creates an incoming payment (interface 4.4), or returns the one that the same request created before.
 *
 * @throws Refusal for errors in the order; `insufficient-grant` when the grant does not cover the wallet address; `frozen`
 *   when that is frozen; 409 and 422 when its idempotency key belongs to another request
 */
export async function createIncomingPayment(
  { authorized, order, idempotencyKey }: CreationRequest,
  dependencies: CreateIncomingPaymentDependencies
): Promise<CreatedIncomingPayment> {
  const walletAddress = await findWalletAddress(authorized.access, order, dependencies.walletAddresses)
  requireReach(authorized, 'incoming-payment', 'create', walletAddress.url)
  checkAsset(order, walletAddress)
  const nowMs = dependencies.clock.now()
  if (authorized.consentedWalletAddress !== walletAddress.url) checkUnasked(order, nowMs)
  const expiresAtMs = order.expiresAt ?? nowMs + dependencies.lifetimeSeconds * 1_000
  const expired = expiresAtMs <= nowMs
  if (expired && idempotencyKey === undefined) throw notInTheFuture()
  const { client, grantId } = authorized
  const content = [walletAddress.url, '\n', authorized.body ?? '']
  const identity = identifyCreation({ client, grantId, idempotencyKey, content })
  const id = newId(dependencies.clock, dependencies.random)
  const stored = await dependencies.store.create({
    id,
    identity,
    walletAddressId: walletAddress.id,
    client,
    incomingValue: order.incomingAmount?.value,
    expiresAtMs,
    metadata: order.metadata,
    createdAtMs: nowMs
  })
  // A repeated request may come after the expiry that it requested; a first one must not.
  if (stored === undefined && expired) throw notInTheFuture()
  if (stored === undefined && (await dependencies.isFrozen(walletAddress.id))) {
    throw accountFrozen(authorized.consentedWalletAddress === walletAddress.url)
  }
  const { payment } = acceptCreated(stored, identity)
  if (payment.id === id) dependencies.counters.countCreated('incoming-payment')
  return { ...payment, walletAddressUrl: walletAddress.url, asset: walletAddress.asset }
}

/** The wallet address of the order or, if it names none, of the access that covers it. */
async function findWalletAddress(
  access: readonly AccessItem[],
  order: IncomingPaymentOrder,
  walletAddresses: WalletAddressDirectory
): Promise<WalletAddress> {
  const url = order.walletAddress ?? findIdentifier(access)
  if (url === undefined) {
    throw invalidField('walletAddress', 'required, since the access token names no wallet address')
  }
  const walletAddress = await walletAddresses.findByUrl(url)
  if (walletAddress === undefined) throw unknownWalletAddress('walletAddress')
  return walletAddress
}

function findIdentifier(access: readonly AccessItem[]): string | undefined {
  return access.find(
    (item) =>
      item.type === 'incoming-payment' && item.actions.includes('create') && item.identifier !== undefined
  )?.identifier
}

function checkAsset({ incomingAmount }: IncomingPaymentOrder, { asset }: WalletAddress): void {
  if (incomingAmount !== undefined && !isSameAsset(incomingAmount.asset, asset)) {
    throw assetMismatch('incomingAmount', incomingAmount.asset, asset)
  }
}

/** What a client may store for a wallet address without its account holder's consent. */
function checkUnasked({ expiresAt, metadata }: IncomingPaymentOrder, nowMs: number): void {
  if (expiresAt !== undefined && expiresAt > nowMs + UNASKED_EXPIRY_AHEAD_MAX_MS) {
    throw invalidField('expiresAt', "must be at most a year ahead without the account holder's consent")
  }
  if (metadata !== undefined && metadataBytes(metadata) > UNASKED_METADATA_BYTES_MAX) {
    const most = String(UNASKED_METADATA_BYTES_MAX)
    throw invalidField('metadata', `must have at most ${most} bytes without the account holder's consent`)
  }
}

function notInTheFuture() {
  return invalidField('expiresAt', 'must be in the future')
}
