import fc from 'fast-check'
import { anyText, attempts, mixed, word } from './text.js'

// Calls of operators and of internal services, nearly all valid in some of their fields.

/** What calls name. */
export interface CallPlaces {
  /** URLs of outgoing payments. */
  readonly payments: readonly [string, ...string[]]
  /** A wallet address, an account and a client that nothing else uses. */
  readonly walletAddress: string
  readonly accountName: string
  /** Id of a webhook endpoint. */
  readonly endpointId: string
  /** URL that a webhook endpoint may have. */
  readonly endpointUrl: string
  /** A cursor of the resource server, and one of the auth server. */
  readonly cursors: readonly [string, string]
}

/** A call: of which service, and with which message. */
export interface OperatorCall {
  readonly of: 'wallets' | 'grants' | 'webhooks' | 'grant webhooks' | 'events' | 'grant events'
  readonly method: string
  readonly request: object
}

/** Maximum length of a text, in characters: longer than any that is accepted, and short enough to be sent often. */
const TEXT_LENGTH_MAX = 16_384

function texts(...proper: readonly string[]): fc.Arbitrary<string> {
  const known = fc.constantFrom(...proper)
  return mixed([12, known], [4, attempts(known, TEXT_LENGTH_MAX)], [1, fc.constant('')])
}

const values = attempts(word('1 1 2 10 18446744073709551615'), TEXT_LENGTH_MAX)
const pageSize = fc.constantFrom(0, 1, 1_000, 1_001, 4_294_967_295)
const instant = fc.constantFrom(undefined, ...[0, -1, 1.7e12, 8.64e15, -8.64e15].map((ms) => new Date(ms)))
const reason = texts('ticket 4711', '')

function webhookCalls({ endpointId, endpointUrl, walletAddress }: CallPlaces) {
  const id = texts(endpointId, '0190a8b1-0000-7000-8000-000000000001')
  const types = fc.array(texts('outgoing_payment.completed', 'grant.used', 'webhook.test'), { maxLength: 3 })
  const secret = mixed([2, fc.constant('')], [1, texts(`whsec_${'a'.repeat(43)}=`)])
  const wallet = mixed([2, fc.constant('')], [1, texts(walletAddress)])
  return {
    createWebhookEndpoint: fc.record({ url: texts(endpointUrl), types, walletAddress: wallet, secret }),
    listWebhookEndpoints: fc.record({ pageSize, pageToken: texts('', endpointId) }),
    getWebhookEndpoint: fc.record({ id }),
    updateWebhookEndpoint: fc.record({
      id,
      url: fc.option(texts(endpointUrl), { nil: undefined }),
      eventTypes: fc.option(fc.record({ types }), { nil: undefined }),
      walletAddress: fc.option(wallet, { nil: undefined }),
      enable: fc.boolean()
    }),
    disableWebhookEndpoint: fc.record({ id }),
    deleteWebhookEndpoint: fc.record({ id: texts('0190a8b1-0000-7000-8000-000000000001') }),
    rotateWebhookSecret: fc.record({ id, secret }),
    testWebhookEndpoint: fc.record({ id }),
    listWebhookAttempts: fc.record({ id, pageSize, pageToken: texts('', endpointId) }),
    replayWebhooks: fc.record({ id, after: instant })
  }
}

function eventCalls({ cursors }: CallPlaces) {
  const afterCursor = texts('', ...cursors)
  const types = fc.array(texts('outgoing_payment.completed', 'grant.used'), { maxLength: 3 })
  return {
    listEvents: fc.record({ afterCursor, types, pageSize }),
    watchEvents: fc.record({ afterCursor, types, onlyNew: fc.boolean() })
  }
}

/** Refunds, approvals, freezes, webhook endpoints and events. */
export function operatorCalls(places: CallPlaces): fc.Arbitrary<OperatorCall> {
  const { payments, walletAddress, accountName } = places
  const payment = texts(...payments, `${payments[0]}/`)
  const wallets = {
    createRefund: fc.record({
      refundOf: payment,
      value: values,
      idempotencyKey: mixed([2, fc.constant('')], [1, fc.uuid()], [1, anyText]),
      returnsFee: fc.boolean()
    }),
    listRefunds: fc.record({ refundOf: payment, pageSize, pageToken: texts('') }),
    approvePayment: fc.record({ outgoingPayment: payment, reason }),
    declinePayment: fc.record({ outgoingPayment: payment, reason }),
    createApprovalRule: fc.record({
      aboveValue: fc.option(attempts(word('18446744073709551615'), TEXT_LENGTH_MAX), { nil: '' }),
      walletAddress: texts(walletAddress),
      client: texts('', walletAddress),
      firstPayee: fc.boolean(),
      method: texts('', 'ilp')
    }),
    deleteApprovalRule: fc.record({ ruleId: texts('0190a8b1-0000-7000-8000-000000000001') }),
    setAccountHolder: fc.record({
      accountName: texts(accountName),
      holder: fc.option(fc.record({ issuer: texts('https://login.example'), sub: texts('alice') }), {
        nil: undefined
      })
    }),
    freezeAccount: fc.record({ accountName: texts(accountName), reason }),
    unfreezeAccount: fc.record({ accountName: texts(accountName), reason, freezeTime: instant }),
    freezeWalletAddress: fc.record({ walletAddress: texts(walletAddress), reason }),
    unfreezeWalletAddress: fc.record({ walletAddress: texts(walletAddress), reason, freezeTime: instant })
  }
  const grants = {
    freezeClient: fc.record({ client: texts(walletAddress), reason }),
    unfreezeClient: fc.record({ client: texts(walletAddress), reason, freezeTime: instant }),
    getConsentRecord: fc.record({ grantId: texts('0190a8b1-0000-7000-8000-000000000001') }),
    listFrozenClients: fc.record({ pageSize, pageToken: texts('', walletAddress) })
  }
  const of = (
    service: OperatorCall['of'],
    calls: Readonly<Record<string, fc.Arbitrary<object>>>
  ): fc.Arbitrary<OperatorCall>[] =>
    Object.entries(calls).map(([method, requests]) =>
      requests.map((request) => ({ of: service, method, request }))
    )
  return fc.oneof(
    ...of('wallets', wallets),
    ...of('grants', grants),
    ...of('webhooks', webhookCalls(places)),
    ...of('grant webhooks', webhookCalls(places)),
    ...of('events', eventCalls(places)),
    ...of('grant events', eventCalls(places))
  )
}
