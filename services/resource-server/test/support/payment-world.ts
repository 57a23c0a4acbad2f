import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  callUnary,
  createClient,
  type RequestOf,
  type ResponseOf,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { createLogger } from '@open-payments-server/runtime'
import type { Answer, SignedRequestOptions } from '@open-payments-server/testing'
import { FakeGrantLimits } from './fake-grant-limits.js'
import {
  ALICE,
  BOB,
  CAROL,
  PUBLIC_URL,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer,
  type TestResourceServerOptions
} from './resource-server.js'

const USD = { code: 'USD', scale: 2 }
const EUR = { code: 'EUR', scale: 2 }

/** Amounts on the wire. */
export const usd = (value: bigint | number | string) => ({
  value: String(value),
  assetCode: 'USD',
  assetScale: 2
})
export const eur = (value: bigint | number | string) => ({
  value: String(value),
  assetCode: 'EUR',
  assetScale: 2
})

type Operator = wallet.WalletOperatorServiceClient

/** The resource server with money in it, beside a fake of the grant limits. */
export interface PaymentWorld extends TestResourceServer {
  readonly limits: FakeGrantLimits
  /** A client with one token for everything, in `token`. */
  readonly shop: TestClient
  readonly token: string
  /** Calls an operator's method over gRPC. */
  operate<Name extends UnaryMethodName<Operator>>(
    method: Name,
    request: RequestOf<Operator, Name>
  ): Promise<ResponseOf<Operator, Name>>
  /** Sends a request of the shop with its one token. */
  request(method: string, path: string, options?: SignedRequestOptions): Promise<Answer>
  /** Creates an outgoing payment of alice; further fields take precedence. */
  pay(
    receiver: string,
    value: bigint | number,
    more?: object,
    options?: SignedRequestOptions
  ): Promise<Answer>
  /** Creates an incoming payment; answers its URL. */
  createReceiver(more?: object): Promise<string>
  /** Creates a quote of alice's; answers its URL. */
  createQuote(receiver: string, more?: object): Promise<string>
  /** A quote with the terms of another, as created by another replica: it is not cached here. */
  createQuoteElsewhere(quoteUrl: string): Promise<string>
  /** Reads a payment of the shop until it is no longer pending. */
  whenEnded(url: string): Promise<Answer>
  /** What an account can spend now. */
  available(name: string): Promise<bigint>
  /** Violations of an audit. */
  audit(openReservationAgeMaxSeconds?: number): Promise<string[]>
  /** Waits until every outcome is delivered to the auth server. */
  whenDelivered(): Promise<void>
}

/** Starts the resource server with alice and bob (USD) and carol (EUR), who hold 10,000.00 each, deposited. */
export async function startPaymentWorld(options: TestResourceServerOptions = {}): Promise<PaymentWorld> {
  const limits = new FakeGrantLimits()
  const logger = createLogger({ service: 'fake-grant-limits', level: 'silent' })
  const base = await startTestResourceServer({
    ...options,
    settings: { PROCESSING_POLL_SECONDS: '1', ...options.settings },
    authServices: limits.services(logger)
  })
  limits.grantOf = (accessToken) => base.auth.grantOf(accessToken)
  limits.clientOf = (accessToken) => base.auth.clientOf(accessToken)
  limits.frozenClients = () => base.auth.frozenClients
  const operator = createClient(wallet.WalletOperatorServiceClient, {
    target: `127.0.0.1:${String(base.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })
  const operate: PaymentWorld['operate'] = (method, request) =>
    callUnary(operator, method, request, { idempotent: false })
  await depositForAll(base, operate)
  const shop = base.createClient('shop')
  limits.client = shop.client
  const { accessToken: token } = base.auth.issueToken({
    client: shop.client,
    keys: [shop.key],
    access: [
      { type: 'incoming-payment', actions: ['create', 'read', 'list', 'complete'] },
      { type: 'quote', actions: ['create', 'read'] },
      { type: 'outgoing-payment', actions: ['create', 'read', 'list'] }
    ]
  })
  const request: PaymentWorld['request'] = (method, path, requestOptions) =>
    shop.request([], method, path, { accessToken: token, ...requestOptions })

  const create = async (path: string, body: object): Promise<string> => {
    const answer = await request('POST', path, { body })
    if (answer.status !== 201) throw new Error(`${path}: ${String(answer.status)} ${answer.text}`)
    return answer.textAt('id')
  }
  return {
    ...base,
    limits,
    shop,
    token,
    operate,
    request,
    pay: (receiver, value, more = {}, requestOptions = {}) =>
      request('POST', '/outgoing-payments', {
        body: { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(value), ...more },
        // Two equal requests in one second would have the same signature, and count as one.
        signature: { nonce: randomUUID() },
        ...requestOptions
      }),
    createReceiver: (more = {}) => create('/incoming-payments', { walletAddress: BOB, ...more }),
    createQuote: (receiver, more = {}) =>
      create('/quotes', { walletAddress: ALICE, receiver, method: 'ilp', ...more }),
    async createQuoteElsewhere(quoteUrl) {
      const id = randomUUID()
      await base.database.query(
        `insert into quote
           select (jsonb_populate_record(q, jsonb_build_object('id', $2::text))).* from quote q where id = $1`,
        [quoteUrl.slice(-36), id]
      )
      return `${PUBLIC_URL}/quotes/${id}`
    },
    async whenEnded(url) {
      for (;;) {
        const [row] = await base.database.query<{ state: string }>(
          'select state from outgoing_payment where id = $1',
          [url.slice(-36)]
        )
        if (row?.state !== 'pending') return request('GET', url.slice(PUBLIC_URL.length))
        await delay(10)
      }
    },
    async available(name) {
      const { accounts } = await operate('listAccounts', { name, pageSize: 0, pageToken: '' })
      return BigInt(accounts[0]?.availableValue ?? '')
    },
    async audit(openReservationAgeMaxSeconds = 0) {
      const { checks } = await operate('audit', { openReservationAgeMaxSeconds })
      return checks.flatMap(({ violations }) => violations)
    },
    async whenDelivered() {
      for (;;) {
        const [row] = await base.database.query<{ count: number }>(
          'select count(*)::int as count from grant_reservation where delivered_at is null'
        )
        if (row?.count === 0) return
        await delay(10)
      }
    },
    async stop() {
      operator.close()
      await base.stop()
    }
  }
}

/** The base creates wallets with money out of nowhere; here it comes from deposits, so that the ledger balances. */
async function depositForAll(base: TestResourceServer, operate: PaymentWorld['operate']): Promise<void> {
  await base.database.query(`delete from wallet_address`)
  await base.database.query(`delete from account`)
  await base.database.query(`delete from asset`)
  for (const asset of [USD, EUR]) await operate('createAsset', { asset })
  for (const [name, asset] of [
    ['alice', USD],
    ['bob', USD],
    ['carol', EUR]
  ] as const) {
    await operate('createAccount', { name, asset })
    await operate('createWalletAddress', { path: `/${name}`, publicName: name, accountName: name })
    await operate('deposit', { depositId: randomUUID(), accountName: name, value: '1000000' })
  }
}

export { ALICE, BOB, CAROL, PUBLIC_URL }
