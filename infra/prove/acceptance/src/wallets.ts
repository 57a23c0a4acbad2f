import { randomUUID } from 'node:crypto'
import { callUnary, isRpcError, status } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { Answer, SignedRequestOptions } from '@open-payments-server/testing'
import { type Asset, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import type { ConnectedSystem, TestClient } from './connect-system.js'
import { consentedToken, type Limits, outgoingAccess, requestToken } from './consent.js'

/** An account with a wallet address, in any asset. */
export interface Wallet {
  /** Name of the account. */
  readonly name: string
  /** URL of the wallet address. */
  readonly walletAddress: string
  readonly asset: Asset
}

const NOT_REPEATED = { idempotent: false }

/** Opens an account with a wallet address and money; creates its asset if necessary. */
export async function openWallet(
  { operator }: ConnectedSystem,
  name: string,
  asset: Asset,
  balance = 0n
): Promise<Wallet> {
  try {
    await callUnary(operator, 'createAsset', { asset }, NOT_REPEATED)
  } catch (error) {
    if (!isRpcError(error) || error.code !== status.ALREADY_EXISTS) throw error
  }
  await callUnary(operator, 'createAccount', { name, asset }, NOT_REPEATED)
  const { walletAddress } = await callUnary(
    operator,
    'createWalletAddress',
    { path: `/${name}`, publicName: name, accountName: name },
    NOT_REPEATED
  )
  for (let left = balance; left > 0n; left -= UINT64_MAX) {
    const value = String(left < UINT64_MAX ? left : UINT64_MAX)
    await callUnary(operator, 'deposit', { depositId: randomUUID(), accountName: name, value }, NOT_REPEATED)
  }
  return { name, walletAddress: walletAddress?.url ?? '', asset }
}

/** The balance of an account, including payments in flight. */
export async function balanceOf({ operator }: ConnectedSystem, name: string): Promise<bigint> {
  const request = wallet.ListAccountsRequest.fromPartial({ name })
  const { accounts } = await callUnary(operator, 'listAccounts', request, { idempotent: true })
  return BigInt(accounts[0]?.balanceValue ?? -1)
}

/** What fixes the amounts of a quote or payment, as on the wire. */
export type FixedAmount = { readonly debitAmount: object } | { readonly receiveAmount: object }

/** An amount of the wallet's asset, as on the wire. */
export function amountOf({ asset }: Wallet, value: bigint): object {
  return { value: String(value), assetCode: asset.code, assetScale: asset.scale }
}

/** Access tokens by purpose. */
type Tokens = Readonly<Record<'incoming' | 'quote' | 'outgoing', string>>

/** A client at a system. */
export interface Client {
  readonly system: ConnectedSystem
  readonly client: TestClient
}

/** A client with every right to the payments from one wallet to another. */
export class Correspondence {
  /** Who orders payments. */
  readonly payer: Client
  /** Who is to be paid: the same, unless the wallets are at two systems. */
  readonly payee: Client
  readonly from: Wallet
  readonly to: Wallet
  #tokens: Tokens
  /** Where the token for outgoing payments is rotated. */
  #manage: string

  private constructor(
    { payer, payee }: { readonly payer: Client; readonly payee: Client },
    { from, to }: { readonly from: Wallet; readonly to: Wallet },
    { manage, ...tokens }: Tokens & { readonly manage: string }
  ) {
    this.payer = payer
    this.payee = payee
    this.from = from
    this.to = to
    this.#tokens = tokens
    this.#manage = manage
  }

  /**
   * @param wallets.payee who is to be paid, where that wallet is at another system
   * @param limits of the outgoing payments' grant
   */
  static async open(
    system: ConnectedSystem,
    client: TestClient,
    wallets: { readonly from: Wallet; readonly to: Wallet; readonly payee?: Client },
    limits?: Limits
  ): Promise<Correspondence> {
    const payer = { system, client }
    const { from, to, payee = payer } = wallets
    const access = [outgoingAccess(system, limits, from.walletAddress)]
    const { token: outgoing, manage } = await consentedToken(system, client, access)
    const unconsented = await requestUnconsented({ payer, payee }, to)
    return new Correspondence({ payer, payee }, { from, to }, { ...unconsented, outgoing, manage })
  }

  /** Replaces its tokens, which may have ended. */
  async renewTokens(): Promise<void> {
    const rotated = await this.payer.client.request('POST', this.#manage, {
      accessToken: this.#tokens.outgoing
    })
    const unconsented = await requestUnconsented(this, this.to)
    this.#tokens = { ...unconsented, outgoing: rotated.textAt('access_token.value') }
    this.#manage = rotated.textAt('access_token.manage')
  }

  /** Creates an incoming payment; any amount may be received unless told otherwise. */
  requestReceiver(body: Record<string, unknown> = {}): Promise<Answer> {
    return this.#post('/incoming-payments', 'incoming', { walletAddress: this.to.walletAddress, ...body })
  }

  /** Creates an incoming payment. Returns its URL. */
  async createReceiver(body?: Record<string, unknown>): Promise<string> {
    return (await this.requestReceiver(body)).textAt('id')
  }

  /** Completes an incoming payment: it takes nothing more. */
  complete(receiver: string): Promise<Answer> {
    return this.payee.client.request('POST', `${receiver}/complete`, { accessToken: this.#tokens.incoming })
  }

  /** @param fixed whatever the receiver still lacks, unless given */
  quote(receiver: string, fixed?: FixedAmount): Promise<Answer> {
    return this.#post('/quotes', 'quote', {
      walletAddress: this.from.walletAddress,
      receiver,
      method: 'ilp',
      ...fixed
    })
  }

  /** Pays on the terms of a quote. */
  payQuote(quote: Answer): Promise<Answer> {
    return this.#post('/outgoing-payments', 'outgoing', {
      walletAddress: this.from.walletAddress,
      quoteId: quote.textAt('id')
    })
  }

  /**
   * Pays an incoming payment directly.
   *
   * @param metadata makes every call a request of its own unless given
   */
  pay(
    receiver: string,
    debitAmount: object,
    options: SignedRequestOptions = {},
    metadata: object = { request: randomUUID() }
  ): Promise<Answer> {
    const walletAddress = this.from.walletAddress
    const body = { walletAddress, incomingPayment: receiver, debitAmount, metadata }
    return this.#post('/outgoing-payments', 'outgoing', body, options)
  }

  /** Reads a payment again. */
  read(kind: 'incoming' | 'outgoing', url: string): Promise<Answer> {
    const { client } = kind === 'incoming' ? this.payee : this.payer
    return client.request('GET', url, { accessToken: this.#tokens[kind] })
  }

  /** Amounts that the grant has spent. */
  readSpent(): Promise<Answer> {
    const { system, client } = this.payer
    return client.request('GET', `${system.resourceServerUrl}/outgoing-payment-grant`, {
      accessToken: this.#tokens.outgoing
    })
  }

  #post(
    path: string,
    token: keyof Tokens,
    body: object,
    options: SignedRequestOptions = {}
  ): Promise<Answer> {
    const { system, client } = token === 'incoming' ? this.payee : this.payer
    const url = `${system.resourceServerUrl}${path}`
    return client.request('POST', url, { accessToken: this.#tokens[token], body, ...options })
  }
}

/** Tokens that need nobody's consent. */
async function requestUnconsented(
  { payer, payee }: { readonly payer: Client; readonly payee: Client },
  to: Wallet
): Promise<Pick<Tokens, 'incoming' | 'quote'>> {
  const incoming = await requestToken(payee.system, payee.client, [
    { type: 'incoming-payment', actions: ['create', 'read', 'complete'], identifier: to.walletAddress }
  ])
  const quote = await requestToken(payer.system, payer.client, [
    { type: 'quote', actions: ['create', 'read'] }
  ])
  return { incoming, quote }
}
