import fc from 'fast-check'
import { TARGET_LENGTH_MAX } from './lists.js'
import { attempts, joined, mixed, word } from './text.js'

// Bodies as clients send them, nearly all valid.

/** The URLs that requests name. */
export interface Places {
  /** URLs of wallet addresses; the first is the client's own, the second the payer's, the third the payee's. */
  readonly walletAddresses: readonly [client: string, payer: string, payee: string]
  /** URLs of incoming payments. */
  readonly receivers: readonly [string, ...string[]]
  /** URLs of incoming payments of the payer. */
  readonly ownReceivers: readonly [string, ...string[]]
  /** URLs of outgoing payments, from the payer to the payee. */
  readonly payments: readonly [string, ...string[]]
  /** URLs of quotes. */
  readonly quotes: readonly [string, ...string[]]
  /** URLs to which browsers may be sent back. */
  readonly finishUri: string
}

/** A member that may be absent. */
function optional<Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(values, { nil: undefined, freq: 1 })
}

// Instants, durations and repetitions in ISO 8601, in the present, at an edge, and beyond it.
const ODD_INSTANTS = `1969-12-31T00:00:00Z 2026-02-30T00:00:00Z 2026-01-01T24:00:00Z 2000-02-29T00:00:00,001+24:00
  2026-11-21T23:59:60z 10000-01-01T00:00:00Z 0000-00-00T00:00:00 2027-03-31T12:00:00.123456789-00:00`
const instant = mixed(
  [3, fc.integer({ min: 0, max: 4e9 }).map((seconds) => new Date(seconds * 1_000).toISOString())],
  [2, word('1970-01-01T00:00:00Z 2024-02-29T12:30+23:59 2026-01-31T23:59:59-12:00 9999-12-31T23:59:59.999Z')],
  [2, word(ODD_INSTANTS)]
)
const DURATION = /^P(\d{1,2}Y)?(\d{1,2}M)?(\d{1,2}W)?(\d{1,2}D)?(T(\d{1,2}H)?(\d{1,2}M)?(\d{1,2}S)?)?$/
const duration = mixed(
  [3, word('P1M P1D P1Y P2W PT1H PT0.001S P1Y2M3W4DT5H6M7S P10000Y P120000M P00001D P0.5D PT1,5S')],
  [2, fc.stringMatching(DURATION)],
  [1, word(`PT0S P-1D P1S P1H PT1D P1M1Y p1d P10001Y P120001M P1.5M PT0.123456789S P1.D P${'9'.repeat(40)}Y`)]
)
const count = mixed(
  [6, word('R/ R-1/ R1/ R2/ R12/ R50/ R9007199254740991/')],
  [1, word('R9007199254740992/ R0/ R00/ R+1/ R1.0/ r1/ R-2/ /')]
)
const slash = fc.constant('/')

/** A repeating interval in ISO 8601, of any of its forms. */
export const interval: fc.Arbitrary<string> = mixed(
  [3, joined(count, instant, slash, duration)],
  [1, joined(count, instant, slash, instant)],
  [2, joined(count, duration, slash, instant)]
)

const values = word('0 1 2 99 100 1000 9223372036854775808 18446744073709551615')
/** An amount on the wire, most often in dollars. */
const amount = fc.record({
  value: fc.oneof(values, fc.nat(100_000).map(String)),
  assetCode: mixed([16, fc.constant('USD')], [1, word('EUR !')]),
  assetScale: mixed([16, fc.constant(2)], [1, fc.nat(255)])
})

/** Many numbers, which may be longer as stored than as sent. */
const longList = fc
  .tuple(fc.nat(2_500), fc.constantFrom(0, -0, 1, 0.1, 1e21, 1e308, 5e-324, 2 ** 53))
  .map(([length, number]) => ({ list: Array.from({ length }, () => number) }))
const dictionary = fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
const metadata = mixed<unknown>([12, dictionary], [1, longList])

/** A client's public key as it publishes it. */
export const jwk = fc.record({
  kid: word(`client-key other ${'k'.repeat(256)}`),
  kty: word('OKP'),
  crv: word('Ed25519'),
  alg: word('EdDSA'),
  x: word('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'),
  use: fc.constantFrom(undefined, 'sig')
})

/** Grant requests (interface 4.1). */
export function grantRequests({ walletAddresses, receivers, finishUri }: Places): fc.Arbitrary<unknown> {
  const [own, payer, payee] = walletAddresses
  const item = (type: string, actions: string) =>
    fc.record({ type: word(type), actions: fc.subarray(actions.split(' '), { minLength: 1 }) })
  const limits = fc.record({
    receiver: optional(fc.constantFrom(...receivers)),
    interval: optional(interval),
    debitAmount: optional(amount),
    receiveAmount: optional(amount)
  })
  const items = fc.oneof(
    item('quote', 'create read'),
    item('incoming-payment', 'create complete read read-all list list-all'),
    item('incoming-payment', 'create read').map((one) => ({ ...one, identifier: payee })),
    fc
      .tuple(item('outgoing-payment', 'create read list'), optional(limits))
      .map(([one, some]) => ({ ...one, identifier: payer, limits: some }))
  )
  const access = fc.uniqueArray(items, { minLength: 1, maxLength: 3, selector: (one) => JSON.stringify(one) })
  const finish = fc.record({
    method: word('redirect'),
    uri: word(finishUri),
    nonce: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    hash_method: optional(word('sha-256'))
  })
  const start = fc.constantFrom(['redirect'], ['app', 'redirect'])
  return fc.record({
    client: fc.oneof(word(own), word(own), fc.record({ walletAddress: word(own) }), fc.record({ jwk })),
    access_token: fc.record({ access }),
    subject: fc.constantFrom(undefined, undefined, { sub_ids: [{ id: payer, format: 'uri' }] }),
    interact: optional(fc.record({ start, finish: optional(finish) }))
  })
}

/** Continuations (interface 4.1), and refusals by an identity provider. */
export const continuations: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ interact_ref: fc.string({ minLength: 1, maxLength: 50 }) }),
  fc.record({ reason: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }) }),
  fc.constant({})
)

/** Incoming payments (interface 4.4). */
export function incomingPayments({ walletAddresses: [, , payee] }: Places): fc.Arbitrary<unknown> {
  const expiresAt = fc.oneof(fc.constantFrom(undefined, '2035-01-31T12:00:00Z'), optional(instant))
  const walletAddress = fc.constantFrom(payee, payee, payee, undefined)
  const incomingAmount = optional(amount)
  return fc.record({ walletAddress, incomingAmount, expiresAt, metadata: optional(metadata) })
}

/** Quotes. */
export function quotes({ walletAddresses: [, payer], receivers }: Places): fc.Arbitrary<unknown> {
  const order = { walletAddress: word(payer), receiver: fc.constantFrom(...receivers), method: word('ilp') }
  const fixed = [{}, { debitAmount: amount }, { receiveAmount: amount }]
  return fc.oneof(...fixed.map((of) => fc.record({ ...order, ...of })))
}

/** Outgoing payments (interface 4.3), in both forms. */
export function outgoingPayments({ walletAddresses: [, payer], ...places }: Places): fc.Arbitrary<unknown> {
  const order = { walletAddress: word(payer), metadata: optional(metadata) }
  return fc.oneof<fc.Arbitrary<unknown>[]>(
    fc.record({ ...order, quoteId: fc.constantFrom(...places.quotes) }),
    fc.record({ ...order, incomingPayment: fc.constantFrom(...places.receivers), debitAmount: amount })
  )
}

/** Outgoing payments that refund another. */
export function refunds({
  walletAddresses: [, , payee],
  ownReceivers,
  payments
}: Places): fc.Arbitrary<unknown> {
  return fc.record({
    walletAddress: word(payee),
    incomingPayment: fc.constantFrom(...ownReceivers),
    debitAmount: amount,
    refundOf: attempts(fc.constantFrom(...payments), TARGET_LENGTH_MAX)
  })
}
