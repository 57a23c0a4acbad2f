import {
  callUnary,
  type ChannelOptions,
  createClient,
  type RequestOf,
  type ResponseOf,
  RpcError,
  status,
  type UnaryCallOptions,
  type UnaryMethodName,
  type WatchedTlsFiles
} from '@open-payments-server/grpc-transport'
import { auth, wallet } from '@open-payments-server/proto'
import { type Amount, type Asset, parseAmountValue } from '@open-payments-server/value-types/amounts'
import { ActionClient } from './action-client.js'
import { EventClient } from './event-client.js'
import type { EventfulService } from './eventful-service.js'
import { WebhookClient } from './webhook-client.js'
import { lostPaymentOf, type OperatorLostPayment } from './lost-payments.js'
import { assetOf, type Listed, listPages, present, readTotal, textOf } from './messages.js'
import { PeerClient } from './peer-client.js'
import { type OperatorRefund, type RefundOrder, refundOf } from './refunds.js'

/** Maximum duration of one operator call, retries included. */
const DEADLINE_MS = 10_000
/** Maximum duration of an audit: it reads every row. */
const AUDIT_DEADLINE_MS = 600_000
/** Maximum size of a message: a page of 1,000 grants with all their access. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024
/** Maximum number of lost payments that one call gives up. */
const GIVEN_UP_MAX = 100
/** Message for a service that did not answer. */
const UNANSWERED: ReadonlyMap<status, string> = new Map([
  [
    status.UNAVAILABLE,
    'cannot be reached: is it running, is its address right, and does it take these certificates?'
  ],
  [status.DEADLINE_EXCEEDED, 'did not answer in time']
])

const REPEATABLE: UnaryCallOptions = { idempotent: true }
const ONCE: UnaryCallOptions = { idempotent: false }

/** The targets of both services, each as `host:port` or `dns:///host:port`. */
export interface OperatorTargets {
  /** The auth server's gRPC listener. */
  readonly auth: string
  /** The resource server's gRPC listener. */
  readonly wallet: string
}

/** The operator's credentials, and how it verifies the services. */
export interface OperatorTls {
  /** The operator's certificate, and the authorities it trusts. */
  readonly files: WatchedTlsFiles
  /** Names that the services' certificates must contain; default: those of their targets. */
  readonly serverNames: { readonly auth?: string | undefined; readonly wallet?: string | undefined }
}

/** An account and its balance. */
export interface OperatorAccount {
  readonly name: string
  readonly asset: Asset
  /**
   * Balance, including money on hold for pending payments. A total: it may be above 2^64 − 1, as may the held and available
   * parts.
   */
  readonly balance: Amount
  /** The part of it on hold for pending payments. */
  readonly held: Amount
  /** The part that can be spent now. */
  readonly available: Amount
  readonly createdAt: Date | undefined
  /** undefined unless it is frozen. */
  readonly freeze: OperatorFreeze | undefined
  /** undefined unless it was said who holds it. */
  readonly holder: OperatorHolder | undefined
}

/** A person, as an OpenID Connect issuer knows them. */
export interface OperatorHolder {
  /** `iss` of its ID tokens. */
  readonly issuer: string
  /** `sub` of these. */
  readonly sub: string
}

/** A freeze of an account, a wallet address or a client. */
export interface OperatorFreeze {
  readonly since: Date | undefined
  /** Who ordered it: a person, or the names in a machine's certificate; empty for a machine in plain text. */
  readonly by: string
  /** Why; empty when no reason was given. */
  readonly reason: string
}

/** A client, and whether it is frozen. */
export interface OperatedClient {
  /** URL of its wallet address, or `jwk:` and its key's thumbprint. */
  readonly name: string
  /** undefined unless it is frozen. */
  readonly freeze: OperatorFreeze | undefined
}

/** What payments are listed: all conditions apply. */
export interface PaymentFilter {
  /** URL of their wallet address. */
  readonly walletAddress?: string | undefined
  /** URL of the wallet address of the client that created them, or `jwk:` and its key's thumbprint. */
  readonly client?: string | undefined
  readonly state?: string | undefined
  /** Exactly this debit or incoming amount, in the smallest unit. */
  readonly value?: bigint | undefined
  /** Created from then on. */
  readonly fromTime?: Date | undefined
  /** Created before then. */
  readonly untilTime?: Date | undefined
}

/** An order to freeze something, or to end its freeze. */
export interface FreezeOrder {
  readonly freezes: boolean
  /** Why; empty for no reason. */
  readonly reason: string
}

/** A wallet address in an operator's list. */
export interface OperatorWalletAddress {
  readonly url: string
  /** Name shown to counterparties; undefined when none is. */
  readonly publicName: string | undefined
  readonly accountName: string
  readonly asset: Asset
  readonly keyIds: readonly string[]
  /** undefined unless it is frozen itself; its account may be. */
  readonly freeze: OperatorFreeze | undefined
}

/** A payment as operators see it. */
export interface OperatorPayment {
  readonly id: string
  readonly walletAddress: string
  /** `awaiting_approval`, `pending`, `completed`, `expired` or `failed`. */
  readonly state: string
  /** Why it failed, and what that means; undefined unless it did. */
  readonly failure: { readonly reason: string; readonly meaning: string } | undefined
  /** Incoming amount, or debit amount; undefined for an incoming payment that is open. */
  readonly amount: Amount | undefined
  /** Amount actually received, or actually sent. */
  readonly moved: Amount
  /** URL of the incoming payment that an outgoing payment pays. */
  readonly receiver: string | undefined
  /** What refunds took of what it delivered or received, or are to take, in the receiver's asset. */
  readonly refunded: Amount
  /** URL of the outgoing payment that it, or the payments to it, refund; undefined unless they do. */
  readonly refundOf: string | undefined
  readonly createdAt: Date | undefined
  readonly updatedAt: Date | undefined
}

/** An invariant, and the audit's result for it. */
export interface AuditCheck {
  readonly invariant: string
  readonly checkedCount: bigint
  /** One sentence per violation; empty when the invariant holds. */
  readonly violations: readonly string[]
}

/** The grants to list. */
export interface GrantFilter {
  /** URL of a wallet address named by the grant's access. */
  readonly walletAddress?: string | undefined
  /** URL of the client's wallet address. */
  readonly client?: string | undefined
  readonly state?: auth.GrantState | undefined
}

/**
 * The operator calls of both services over gRPC. Every method throws an `RpcError` with the code, message and field that
 * the service refused with, or UNAVAILABLE / DEADLINE_EXCEEDED when it could not be reached. Lists have at most `limit`
 * items.
 */
export class OperatorClient {
  readonly #wallet: wallet.WalletOperatorServiceClient
  readonly #auth: auth.GrantOperatorServiceClient
  readonly #targets: OperatorTargets
  /** The events of both services. */
  readonly events: EventClient
  /** The webhook endpoints of both services. */
  readonly webhooks: WebhookClient
  /** The peers of the resource server. */
  readonly peers: PeerClient
  /** What operators did in both services, and what awaits a second person. */
  readonly actions: ActionClient

  /**
   * @param tls plain text without
   * @param token ID token of the person who operates; the machine of the certificate without
   */
  constructor(targets: OperatorTargets, tls?: OperatorTls, token?: string) {
    const metadata = token === undefined ? undefined : { 'operator-token': token }
    const optionsFor = (service: keyof OperatorTargets): ChannelOptions => ({
      target: targets[service],
      tls: tls?.files,
      serverName: tls?.serverNames[service],
      deadlineMs: DEADLINE_MS,
      callsAreLong: true,
      metadata,
      retriesMax: 3,
      messageBytesMax: MESSAGE_BYTES_MAX
    })
    this.#targets = targets
    this.#wallet = createClient(wallet.WalletOperatorServiceClient, optionsFor('wallet'))
    this.#auth = createClient(auth.GrantOperatorServiceClient, optionsFor('auth'))
    const optionsOf = (service: EventfulService) => optionsFor(service === 'auth-server' ? 'auth' : 'wallet')
    const naming = (service: EventfulService) => namingService(this.#nameOf(service))
    this.webhooks = new WebhookClient(optionsOf, naming)
    this.events = new EventClient(optionsOf, naming)
    this.actions = new ActionClient(optionsOf, naming)
    this.peers = new PeerClient(optionsFor('wallet'), naming('resource-server'))
  }

  /** Closes the connections. */
  close(): void {
    this.#wallet.close()
    this.#auth.close()
    this.webhooks.close()
    this.events.close()
    this.peers.close()
    this.actions.close()
  }

  /** Creates an asset. */
  async createAsset(asset: Asset): Promise<Asset> {
    const { asset: created } = await this.#askWallet('createAsset', { asset }, ONCE)
    return assetOf(created)
  }

  /** Lists all assets. */
  async listAssets(): Promise<readonly Asset[]> {
    const { assets } = await this.#askWallet('listAssets', {}, REPEATABLE)
    return assets.map(assetOf)
  }

  /** Creates a wallet account, with money in one asset. */
  async createAccount(name: string, asset: Asset): Promise<OperatorAccount> {
    const { account } = await this.#askWallet('createAccount', { name, asset }, ONCE)
    return accountOf(account)
  }

  /** Finds an account by its name; undefined when there is none. */
  async findAccount(name: string): Promise<OperatorAccount | undefined> {
    const request = { name, pageSize: 1, pageToken: '' }
    const { accounts } = await this.#askWallet('listAccounts', request, REPEATABLE)
    return accounts.map(accountOf).find((account) => account.name === name)
  }

  /** Lists accounts by name. */
  listAccounts(limit: number): Promise<Listed<OperatorAccount>> {
    return listPages(limit, async (page) => {
      const answer = await this.#askWallet('listAccounts', { name: '', ...page }, REPEATABLE)
      return { items: answer.accounts.map(accountOf), nextPageToken: answer.nextPageToken }
    })
  }

  /**
   * Says who holds an account. Idempotent.
   *
   * @param holder undefined for nobody
   */
  async setAccountHolder(accountName: string, holder: OperatorHolder | undefined): Promise<OperatorAccount> {
    const { account } = await this.#askWallet('setAccountHolder', { accountName, holder }, REPEATABLE)
    return accountOf(account)
  }

  /**
   * Creates a wallet address on an account.
   *
   * @param options.path below the resource server's public URL, such as `/alice`
   */
  async createWalletAddress(options: {
    path: string
    accountName: string
    publicName?: string | undefined
  }): Promise<OperatorWalletAddress> {
    const request = { ...options, publicName: options.publicName ?? '' }
    const { walletAddress } = await this.#askWallet('createWalletAddress', request, ONCE)
    return walletAddressOf(walletAddress)
  }

  /** Lists wallet addresses by path. */
  listWalletAddresses(limit: number): Promise<Listed<OperatorWalletAddress>> {
    return listPages(limit, async (page) => {
      const answer = await this.#askWallet(
        'listWalletAddresses',
        wallet.ListWalletAddressesRequest.fromPartial(page),
        REPEATABLE
      )
      return { items: answer.walletAddresses.map(walletAddressOf), nextPageToken: answer.nextPageToken }
    })
  }

  /** Freezes an account, or ends its freeze. Idempotent. */
  async freezeAccount(accountName: string, { freezes, reason }: FreezeOrder): Promise<OperatorAccount> {
    const method = freezes ? 'freezeAccount' : 'unfreezeAccount'
    const { account } = await this.#askWallet(method, { accountName, reason }, REPEATABLE)
    return accountOf(account)
  }

  /** Freezes a wallet address, by its URL, or ends its freeze. Idempotent. */
  async freezeWalletAddress(url: string, { freezes, reason }: FreezeOrder): Promise<OperatorWalletAddress> {
    const method = freezes ? 'freezeWalletAddress' : 'unfreezeWalletAddress'
    const { walletAddress } = await this.#askWallet(method, { walletAddress: url, reason }, REPEATABLE)
    return walletAddressOf(walletAddress)
  }

  /** Freezes a client, by the URL of its wallet address or its key's thumbprint, or ends its freeze. Idempotent. */
  async freezeClient(name: string, { freezes, reason }: FreezeOrder): Promise<OperatedClient> {
    const method = freezes ? 'freezeClient' : 'unfreezeClient'
    const { client } = await this.#askAuth(method, { client: name, reason }, REPEATABLE)
    return operatedClientOf(client)
  }

  /**
   * Deposits money into an account from outside. Idempotent by id.
   *
   * @param id UUID of the deposit
   */
  async deposit(id: string, accountName: string, value: bigint): Promise<OperatorAccount> {
    const request = { depositId: id, accountName, value: value.toString() }
    const { account } = await this.#askWallet('deposit', request, REPEATABLE)
    return accountOf(account)
  }

  /**
   * Withdraws money from an account. Idempotent by id.
   *
   * @param id UUID of the withdrawal
   */
  async withdraw(id: string, accountName: string, value: bigint): Promise<OperatorAccount> {
    const request = { withdrawalId: id, accountName, value: value.toString() }
    const { account } = await this.#askWallet('withdraw', request, REPEATABLE)
    return accountOf(account)
  }

  /**
   * Adds a signing key for a wallet address.
   *
   * @param key.x base64url-encoded Ed25519 public key
   */
  async addClientKey(walletAddress: string, key: { kid: string; x: string }): Promise<void> {
    await this.#askWallet('addClientKey', { walletAddress, ...key }, ONCE)
  }

  /** Removes a key from a wallet address. Idempotent. */
  async revokeClientKey(walletAddress: string, kid: string): Promise<void> {
    await this.#askWallet('revokeClientKey', { walletAddress, kid }, REPEATABLE)
  }

  /** Lists payments, newest first. */
  listPayments(
    kind: 'incoming' | 'outgoing',
    filter: PaymentFilter,
    limit: number
  ): Promise<Listed<OperatorPayment>> {
    const { PAYMENT_KIND_INCOMING, PAYMENT_KIND_OUTGOING } = wallet.PaymentKind
    const query = wallet.ListPaymentsRequest.fromPartial({
      ...filter,
      value: filter.value?.toString(),
      kind: kind === 'incoming' ? PAYMENT_KIND_INCOMING : PAYMENT_KIND_OUTGOING
    })
    return listPages(limit, async (page) => {
      const answer = await this.#askWallet('listPayments', { ...query, ...page }, REPEATABLE)
      return { items: answer.payments.map(paymentOf), nextPageToken: answer.nextPageToken }
    })
  }

  /** Gives back what an outgoing payment delivered, or a part of it. Idempotent by key. */
  async createRefund({ key, ...order }: RefundOrder): Promise<OperatorRefund> {
    const request = { ...order, idempotencyKey: key }
    const { refund } = await this.#askWallet('createRefund', request, REPEATABLE)
    return refundOf(present(refund, 'refund'))
  }

  /**
   * Lists refunds, newest first.
   *
   * @param ofPayment URL of the payment whose refunds are listed; undefined for those of all
   */
  listRefunds(ofPayment: string | undefined, limit: number): Promise<Listed<OperatorRefund>> {
    return listPages(limit, async (page) => {
      const request = { refundOf: ofPayment ?? '', ...page }
      const answer = await this.#askWallet('listRefunds', request, REPEATABLE)
      return { items: answer.refunds.map(refundOf), nextPageToken: answer.nextPageToken }
    })
  }

  /** Lists payments that the database lost when it changed its timeline, by id. Reads all reservations. */
  listLostPayments(limit: number): Promise<Listed<OperatorLostPayment>> {
    const options = { idempotent: true, deadlineMs: AUDIT_DEADLINE_MS }
    return listPages(limit, async (page) => {
      const answer = await this.#askWallet('listLostPayments', page, options)
      return { items: answer.payments.map(lostPaymentOf), nextPageToken: answer.nextPageToken }
    })
  }

  /**
   * Gives up lost payments, a hundred at a time. Idempotent.
   *
   * @returns the ids that this call gave up
   */
  async giveUpLostPayments(ids: readonly string[]): Promise<readonly string[]> {
    const givenUp: string[] = []
    for (let start = 0; start < ids.length; start += GIVEN_UP_MAX) {
      const request = { paymentIds: ids.slice(start, start + GIVEN_UP_MAX) }
      const { paymentIds } = await this.#askWallet('giveUpLostPayments', request, REPEATABLE)
      givenUp.push(...paymentIds)
    }
    return givenUp
  }

  /** Lists grants, newest first. */
  listGrants(filter: GrantFilter, limit: number): Promise<Listed<auth.Grant>> {
    const query = {
      identifier: filter.walletAddress ?? '',
      clientWalletAddress: filter.client ?? '',
      state: filter.state ?? auth.GrantState.GRANT_STATE_UNSPECIFIED
    }
    return listPages(limit, async (page) => {
      const answer = await this.#askAuth('listGrants', { ...query, ...page }, REPEATABLE)
      return { items: answer.grants, nextPageToken: answer.nextPageToken }
    })
  }

  /** Revokes a grant and all its tokens. Idempotent. */
  async revokeGrant(grantId: string): Promise<auth.Grant> {
    const { grant } = await this.#askAuth('revokeGrant', { grantId }, REPEATABLE)
    return present(grant, 'grant')
  }

  /**
   * Checks every invariant of money across both services.
   *
   * @param openReservationAgeMaxSeconds how long a reservation may stay open; the service's default when 0
   */
  async audit(openReservationAgeMaxSeconds: number): Promise<readonly AuditCheck[]> {
    const options = { idempotent: true, deadlineMs: AUDIT_DEADLINE_MS }
    const { checks } = await this.#askWallet('audit', { openReservationAgeMaxSeconds }, options)
    return checks
  }

  /** Reads a grant, what was spent under it, and what its account holder did with it. */
  getGrant(grantId: string): Promise<auth.GetGrantResponse> {
    return this.#askAuth('getGrant', { grantId }, REPEATABLE)
  }

  /** Calls the resource server's operator service, for calls that are described in a file of their own. */
  callWallet<Name extends UnaryMethodName<wallet.WalletOperatorServiceClient>>(
    method: Name,
    request: RequestOf<wallet.WalletOperatorServiceClient, Name>,
    options: UnaryCallOptions
  ): Promise<ResponseOf<wallet.WalletOperatorServiceClient, Name>> {
    return this.#askWallet(method, request, options)
  }

  #nameOf(service: EventfulService): string {
    return service === 'auth-server'
      ? `the auth server at ${this.#targets.auth}`
      : `the resource server at ${this.#targets.wallet}`
  }

  #askWallet<Name extends UnaryMethodName<wallet.WalletOperatorServiceClient>>(
    method: Name,
    request: RequestOf<wallet.WalletOperatorServiceClient, Name>,
    options: UnaryCallOptions
  ): Promise<ResponseOf<wallet.WalletOperatorServiceClient, Name>> {
    return callUnary(this.#wallet, method, request, options).catch(
      namingService(this.#nameOf('resource-server'))
    )
  }

  #askAuth<Name extends UnaryMethodName<auth.GrantOperatorServiceClient>>(
    method: Name,
    request: RequestOf<auth.GrantOperatorServiceClient, Name>,
    options: UnaryCallOptions
  ): Promise<ResponseOf<auth.GrantOperatorServiceClient, Name>> {
    return callUnary(this.#auth, method, request, options).catch(namingService(this.#nameOf('auth-server')))
  }
}

/** Adds the service's name to a transport error. */
function namingService(service: string): (error: unknown) => never {
  return (error) => {
    const said = error instanceof RpcError ? UNANSWERED.get(error.code) : undefined
    if (!(error instanceof RpcError) || said === undefined) throw error
    throw new RpcError({ code: error.code, message: `${service} ${said}`, field: error.field, cause: error })
  }
}

function accountOf(message: wallet.Account | undefined): OperatorAccount {
  const account = present(message, 'account')
  const asset = assetOf(account.asset)
  return {
    name: account.name,
    asset,
    balance: { value: readTotal(account.balanceValue), asset },
    held: { value: readTotal(account.heldValue), asset },
    available: { value: readTotal(account.availableValue), asset },
    createdAt: account.createTime,
    freeze: freezeOf(account.freeze),
    holder: account.holder
  }
}

function freezeOf(freeze: wallet.Freeze | undefined): OperatorFreeze | undefined {
  return freeze && { since: freeze.freezeTime, by: freeze.frozenBy, reason: freeze.reason }
}

function operatedClientOf(message: auth.OperatedClient | undefined): OperatedClient {
  const { client, frozen, freezeTime, frozenBy, reason } = present(message, 'client')
  const { walletAddress, jwkThumbprint } = present(client, 'client.client')
  return {
    name: walletAddress === '' ? `jwk:${jwkThumbprint}` : walletAddress,
    freeze: frozen ? { since: freezeTime, by: frozenBy, reason } : undefined
  }
}

function walletAddressOf(message: wallet.WalletAddress | undefined): OperatorWalletAddress {
  const { url, publicName, accountName, asset, keyIds, freeze } = present(message, 'wallet_address')
  return {
    url,
    publicName: textOf(publicName),
    accountName,
    asset: assetOf(asset),
    keyIds,
    freeze: freezeOf(freeze)
  }
}

/** A payment of a list. */
export function paymentOf(payment: wallet.Payment): OperatorPayment {
  const asset = assetOf(payment.asset)
  return {
    id: payment.paymentId,
    walletAddress: payment.walletAddress,
    state: payment.state,
    failure:
      payment.failureReason === ''
        ? undefined
        : { reason: payment.failureReason, meaning: payment.failureMeaning },
    amount: payment.value === '' ? undefined : { value: parseAmountValue(payment.value), asset },
    moved: { value: parseAmountValue(payment.movedValue), asset },
    receiver: textOf(payment.receiver),
    refunded: { value: parseAmountValue(payment.refundedValue), asset: assetOf(payment.refundedAsset) },
    refundOf: textOf(payment.refundOf),
    createdAt: payment.createTime,
    updatedAt: payment.updateTime
  }
}
