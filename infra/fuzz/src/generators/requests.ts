import fc from 'fast-check'
import { instant, interval } from './intervals.js'

// What clients send in bodies, all of it proper.

/** The names that requests speak of. */
export interface Places {
  /** URLs of wallet addresses; the first is the client's own, the second the payer's, the third the payee's. */
  readonly walletAddresses: readonly [client: string, payer: string, payee: string]
  /** URLs of incoming payments. */
  readonly receivers: readonly [string, ...string[]]
  /** URLs of quotes. */
  readonly quotes: readonly [string, ...string[]]
  /** Where browsers may be sent back to. */
  readonly finishUris: readonly [string, ...string[]]
}

const VALUES = ['0', '1', '2', '99', '100', '1000', '9223372036854775808', '18446744073709551615'] as const

function optional<Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(values, { nil: undefined })
}

const asset = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ assetCode: 'USD', assetScale: 2 }) },
  {
    weight: 1,
    arbitrary: fc.record({ assetCode: fc.constantFrom('USD', 'EUR', '!'), assetScale: fc.nat(255) })
  }
)

/** An amount on the wire, most often in dollars. */
export const amount = fc
  .tuple(fc.oneof(fc.constantFrom<string>(...VALUES), fc.nat(100_000).map(String)), asset)
  .map(([value, of]) => ({ value, ...of }))

/** Many numbers, which may be longer where they are kept than where they came from. */
const numbers = fc
  .tuple(fc.nat(2_500), fc.constantFrom(0, -0, 1, 0.1, 1e21, 1e308, 5e-324, 2 ** 53))
  .map(([length, number]) => ({ list: Array.from({ length }, () => number) }))

const metadata = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  },
  { weight: 1, arbitrary: numbers }
)

const JWK = {
  kid: 'client-key',
  kty: 'OKP',
  crv: 'Ed25519',
  alg: 'EdDSA',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'
}

/** A client's public key as it publishes it. */
export const jwk = fc.record({
  ...Object.fromEntries(Object.entries(JWK).map(([name, value]) => [name, fc.constant(value)])),
  kid: fc.constantFrom('client-key', 'other', 'k'.repeat(256)),
  use: fc.constantFrom(undefined, 'sig')
})

/** Grant requests (interface 4.1). */
export function grantRequests(places: Places): fc.Arbitrary<unknown> {
  const [own, payer, payee] = places.walletAddresses
  const limits = fc.record({
    receiver: optional(fc.constantFrom(...places.receivers)),
    interval: optional(interval),
    debitAmount: optional(amount),
    receiveAmount: optional(amount)
  })
  const item = fc.oneof(
    fc.record({
      type: fc.constant('incoming-payment'),
      actions: fc.subarray(['create', 'complete', 'read', 'read-all', 'list', 'list-all'], { minLength: 1 }),
      identifier: fc.constantFrom(undefined, payee)
    }),
    fc.record({ type: fc.constant('quote'), actions: fc.subarray(['create', 'read'], { minLength: 1 }) }),
    fc.record({
      type: fc.constant('outgoing-payment'),
      actions: fc.subarray(['create', 'read', 'list'], { minLength: 1 }),
      identifier: fc.constant(payer),
      limits: optional(limits)
    })
  )
  const finish = fc.record({
    method: fc.constant('redirect'),
    uri: fc.constantFrom(...places.finishUris),
    nonce: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    hash_method: fc.constantFrom(undefined, 'sha-256')
  })
  return fc.record({
    client: fc.oneof(
      { weight: 4, arbitrary: fc.constant(own) },
      { weight: 1, arbitrary: fc.constant({ walletAddress: own }) },
      { weight: 1, arbitrary: fc.record({ jwk }) }
    ),
    access_token: fc.record({
      access: fc.uniqueArray(item, { minLength: 1, maxLength: 3, selector: (one) => JSON.stringify(one) })
    }),
    subject: fc.constantFrom(undefined, undefined, { sub_ids: [{ id: payer, format: 'uri' }] }),
    interact: optional(
      fc.record({ start: fc.constantFrom(['redirect'], ['app', 'redirect']), finish: optional(finish) })
    )
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
  return fc.record({
    walletAddress: fc.constantFrom(payee, payee, payee, undefined),
    incomingAmount: optional(amount),
    expiresAt: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(undefined, '2035-01-31T12:00:00Z') },
      { weight: 1, arbitrary: instant }
    ),
    metadata: optional(metadata)
  })
}

/** Quotes. */
export function quotes({ walletAddresses: [, payer], receivers }: Places): fc.Arbitrary<unknown> {
  const order = {
    walletAddress: fc.constant(payer),
    receiver: fc.constantFrom(...receivers),
    method: fc.constant('ilp')
  }
  return fc.oneof(
    fc.record(order),
    fc.record({ ...order, debitAmount: amount }),
    fc.record({ ...order, receiveAmount: amount })
  )
}

/** Outgoing payments (interface 4.3), in both forms. */
export function outgoingPayments({
  walletAddresses: [, payer],
  receivers,
  quotes: quoteUrls
}: Places): fc.Arbitrary<unknown> {
  const order = { walletAddress: fc.constant(payer), metadata: optional(metadata) }
  return fc.oneof(
    fc.record({ ...order, quoteId: fc.constantFrom(...quoteUrls) }),
    fc.record({ ...order, incomingPayment: fc.constantFrom(...receivers), debitAmount: amount })
  )
}
