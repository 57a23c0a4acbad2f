import { parseJsonObject, PublicError, readOptionalBody, validate } from '@open-payments-server/http-server'
import { importEd25519Jwk } from '@open-payments-server/http-signatures'
import { parseAmountValue, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import fc from 'fast-check'
import { continuationSchema } from '../../../../../services/auth-server/src/features/continue-grant/routes.js'
import { rejectionSchema } from '../../../../../services/auth-server/src/features/end-grant/routes.js'
import { grantRequestSchema } from '../../../../../services/auth-server/src/features/request-grant/request.js'
import {
  KEYS_MAX,
  readKeys,
  readReceiverAsset,
  readWalletAddress
} from '../../../../../services/auth-server/src/modules/clients/documents.js'
import {
  METADATA_BYTES_MAX,
  URL_LENGTH_MAX
} from '../../../../../services/resource-server/src/features/request-schemas.js'
import { readOrder as readIncomingPayment } from '../../../../../services/resource-server/src/features/create-incoming-payment/request.js'
import { readOrder as readOutgoingPayment } from '../../../../../services/resource-server/src/features/create-outgoing-payment/request.js'
import { readOrder as readQuote } from '../../../../../services/resource-server/src/features/create-quote/request.js'
import { answerOf } from '../../../../../services/resource-server/src/http/answers.js'
import { bodies } from '../generators/json.js'
import {
  continuations,
  grantRequests,
  incomingPayments,
  jwk,
  outgoingPayments,
  type Places,
  quotes,
  refunds
} from '../generators/requests.js'
import { anyText, joined, mixed } from '../generators/text.js'
import { ACCEPTED, type AnyTarget, mustBeErrorBody, mustHold, target } from '../target.js'

/** Maximum length of a body at a public listener, in bytes. */
export const BODY_BYTES_MAX = 65_536

const WALLET = 'https://wallet.example'
const PLACES: Places = {
  walletAddresses: [`${WALLET}/shop`, `${WALLET}/alice`, `${WALLET}/bob`],
  receivers: [`${WALLET}/incoming-payments/0190a8b1-0000-7000-8000-000000000001`],
  ownReceivers: [`${WALLET}/incoming-payments/0190a8b1-0000-7000-8000-000000000003`],
  payments: [`${WALLET}/outgoing-payments/0190a8b1-0000-7000-8000-000000000004`],
  quotes: [`${WALLET}/quotes/0190a8b1-0000-7000-8000-000000000002`],
  finishUri: 'https://shop.example/finish?order=17'
}

const oddContentType = fc.constantFrom(
  ...[undefined, 'text/json', 'application/json; charset=latin1', 'APPLICATION/JSON;charset="UTF-8"'],
  ...[`application/json${';'.repeat(16_000)}`, `application/json;${' '.repeat(16_000)}charset=utf-8`]
)
const json = fc.constant('application/json')
const contentTypes = mixed<string | undefined>([12, json], [1, oddContentType], [1, joined(json, anyText)])

/** Parses a body as JSON from a client. */
type ReadJson = () => Record<string, unknown>

/** Any body is either read or refused by its fields, and no object but its own changes. */
function bodyTarget(
  name: string,
  share: number,
  values: fc.Arbitrary<unknown>,
  read: (readJson: ReadJson, body: Buffer, contentType: string | undefined) => void
): AnyTarget {
  return target({
    name: `bodies of ${name}`,
    share,
    cases: fc.record({ body: bodies(values, BODY_BYTES_MAX), contentType: contentTypes }),
    attack({ body, contentType }) {
      try {
        read(() => parseJsonObject(body, contentType), body, contentType)
        return ACCEPTED
      } finally {
        const { length } = Object.keys(Object.prototype)
        mustHold({ 'nothing is written into the prototype of objects': length === 0 })
      }
    },
    refusal(error) {
      // Both services give the same answer for a wrong field.
      const answer = answerOf(error)
      if (!(answer instanceof PublicError)) return undefined
      mustHold({ 'it is an answer to what the client did': answer.status >= 400 && answer.status < 500 })
      mustBeErrorBody(JSON.parse(JSON.stringify(answer.body())))
      return `${String(answer.status)} ${'body' in (answer.details ?? {}) ? 'body' : 'field'}`
    }
  })
}

function mustBeAmount(amount: { readonly value: bigint } | undefined): void {
  const value = amount?.value ?? 0n
  mustHold({ 'an amount is an unsigned integer of 64 bits': value >= 0n && value <= UINT64_MAX })
  mustHold({ 'an amount is what it was written as': parseAmountValue(String(value)) === value })
}

/** What PostgreSQL does not store. */
const UNSTORABLE = /[\0\p{Surrogate}]/u

function mustBeMetadata(metadata: unknown): void {
  if (metadata === undefined) return
  let digits = 0
  const texts: string[] = []
  JSON.stringify(metadata, (name, value: unknown) => {
    texts.push(name, typeof value === 'string' ? value : '')
    if (typeof value === 'number' && Number.isInteger(value)) digits += BigInt(value).toString().length
    return value
  })
  mustHold({
    'metadata is an object': typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata),
    'metadata can be stored': !texts.some((text) => UNSTORABLE.test(text)),
    'metadata is not much longer where it is kept': digits <= METADATA_BYTES_MAX
  })
}

const grants = bodyTarget('grant requests', 1_000, grantRequests(PLACES), (readJson) => {
  const { access, client, interact } = validate(grantRequestSchema, readJson())
  for (const { limits } of access) {
    if (limits?.interval !== undefined) parseRepeatingInterval(limits.interval)
    mustBeAmount(limits?.debitAmount)
    mustBeAmount(limits?.receiveAmount)
  }
  const walletAddress = client.kind === 'wallet-address' ? client.walletAddress : WALLET
  mustHold({
    'a client is the URL of a wallet address': /^https?:\/\/[^/?#@]+[^?#]*$/.test(walletAddress),
    'a grant has three access items at most': access.length <= 3,
    'a browser is sent to an http or https URL': /^https?:\/\/[\x21-\x7e]+$/.test(
      interact?.finish?.uri ?? WALLET
    )
  })
})

const incoming = bodyTarget('incoming payments', 600, incomingPayments(PLACES), (readJson) => {
  const order = readIncomingPayment(readJson(), Date.UTC(2026, 0))
  mustBeAmount(order.incomingAmount)
  mustBeMetadata(order.metadata)
  mustHold({ 'an instant is whole milliseconds': Number.isSafeInteger(order.expiresAt ?? 0) })
})

const quoted = bodyTarget('quotes', 500, quotes(PLACES), (readJson) => {
  mustBeAmount(readQuote(readJson()).fixed?.amount)
})

const outgoing = bodyTarget(
  'outgoing payments',
  700,
  fc.oneof(outgoingPayments(PLACES), refunds(PLACES)),
  (readJson) => {
    const order = readOutgoingPayment(readJson())
    if (order.form === 'incoming-payment') mustBeAmount(order.debitAmount)
    mustBeMetadata(order.metadata)
    mustHold({ 'what is refunded has an end': (order.refundOf ?? '').length <= URL_LENGTH_MAX })
  }
)

const others = bodyTarget('continuations and refusals', 200, continuations, (_, body, contentType) => {
  const request = { body, get: () => contentType }
  const { interact_ref: reference = '' } = readOptionalBody(request, continuationSchema) ?? {}
  const { reason = '' } = readOptionalBody(request, rejectionSchema) ?? {}
  mustHold({
    'what is told has an end': reference.length <= 256 && reason.length <= 500,
    'a reason is one line': !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(reason)
  })
})

// Documents that the auth server fetches from hosts that strangers name.

const asset = { assetCode: fc.constant('USD'), assetScale: fc.nat(255) }
const documents = fc.oneof(
  fc.record({
    ...asset,
    id: fc.constantFrom(undefined, 'https://wallet.example/alice'),
    publicName: fc.oneof(anyText, fc.constantFrom(null, undefined, 'x'.repeat(1_000), '\u202e'.repeat(300))),
    authServer: fc.constant('https://auth.wallet.example/')
  }),
  fc.record({ keys: fc.array(jwk, { maxLength: 3 }) }),
  fc.record({ receivedAmount: fc.record({ ...asset, value: anyText }) })
)

const strangersDocuments = target({
  name: 'documents of strangers',
  share: 500,
  cases: bodies(documents, BODY_BYTES_MAX),
  async attack(body) {
    const value = readJson(body)
    const walletAddress = readWalletAddress(value)
    const name = walletAddress?.publicName ?? ''
    const keys = readKeys(value) ?? new Map<string, never>()
    mustHold({
      'a name can be shown': name.length <= 256 && !/[\p{Cc}\p{Cf}\p{Surrogate}]/u.test(name),
      'a client has no more keys than are read': keys.size <= KEYS_MAX
    })
    for (const [kid, key] of keys) {
      const { asymmetricKeyType } = await importEd25519Jwk(key)
      mustHold({ 'a key is an Ed25519 key': kid !== '' && asymmetricKeyType === 'ed25519' })
    }
    const isRead = walletAddress !== undefined || keys.size > 0 || readReceiverAsset(value) !== undefined
    return isRead ? ACCEPTED : 'nothing to read'
  }
})

/** A document as the fetching client parses it; undefined if it is not JSON in UTF-8. */
function readJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}

/** Everything that is read from bodies. */
export const BODY_TARGETS = [grants, incoming, quoted, outgoing, others, strangersDocuments]
