import {
  type ErrorBody,
  parseJsonObject,
  PublicError,
  type RouteHandler,
  validate
} from '@open-payments-server/http-server'
import { importEd25519Jwk } from '@open-payments-server/http-signatures'
import { parseAmountValue, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import fc from 'fast-check'
import {
  KEYS_MAX,
  readKeys,
  readReceiverAsset,
  readWalletAddress
} from '../../../../services/auth-server/src/modules/clients/documents.js'
import { continueGrantRoute } from '../../../../services/auth-server/src/features/continue-grant/routes.js'
import { rejectGrantRoute } from '../../../../services/auth-server/src/features/end-grant/reject-route.js'
import {
  type GrantRequest,
  grantRequestSchema
} from '../../../../services/auth-server/src/features/request-grant/request.js'
import { readOrder as readIncomingPayment } from '../../../../services/resource-server/src/features/create-incoming-payment/request.js'
import { readOrder as readOutgoingPayment } from '../../../../services/resource-server/src/features/create-outgoing-payment/request.js'
import { METADATA_BYTES_MAX } from '../../../../services/resource-server/src/domain/wire.js'
import { readOrder as readQuote } from '../../../../services/resource-server/src/features/create-quote/request.js'
import { answerOf } from '../../../../services/resource-server/src/http/answers.js'
import { bodies } from '../generators/json.js'
import {
  continuations,
  grantRequests,
  incomingPayments,
  jwk,
  outgoingPayments,
  type Places,
  quotes
} from '../generators/requests.js'
import { anyText } from '../generators/text.js'
import { ACCEPTED, type AnyTarget, mustHold, refusedAs, target } from '../target.js'

/** Longest body that a public listener takes, in bytes. */
export const BODY_BYTES_MAX = 65_536
/** Longest body that the listener for identity providers takes, in bytes. */
const IDENTITY_PROVIDER_BODY_BYTES_MAX = 16_384

const PLACES: Places = {
  walletAddresses: [
    'https://wallet.example/shop',
    'https://wallet.example/alice',
    'https://wallet.example/bob'
  ],
  receivers: ['https://wallet.example/incoming-payments/0190a8b1-0000-7000-8000-000000000001'],
  quotes: ['https://wallet.example/quotes/0190a8b1-0000-7000-8000-000000000002'],
  finishUris: ['https://shop.example/finish?order=17', 'http://127.0.0.1:3000/']
}

const contentTypes = fc.oneof(
  { weight: 12, arbitrary: fc.constant<string | undefined>('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      undefined,
      'application/json; charset=utf-8',
      'APPLICATION/JSON;charset="UTF-8"',
      'application/json; charset=latin1',
      'text/json',
      `application/json${';'.repeat(16_000)}`,
      `application/json;${' '.repeat(16_000)}charset=utf-8`
    )
  },
  { weight: 1, arbitrary: anyText.map((text) => `application/json${text}`) }
)

interface BodyCase {
  readonly body: Buffer
  readonly contentType: string | undefined
}

function bodyCases(values: fc.Arbitrary<unknown>, lengthMax = BODY_BYTES_MAX): fc.Arbitrary<BodyCase> {
  return fc.record({ body: bodies(values, lengthMax), contentType: contentTypes })
}

/** An answer that a client may be given: below 500, and its body is as documented. */
export function mustBeErrorBody(status: number, body: unknown): void {
  mustHold(status >= 400 && status < 500, `${String(status)} is an answer to what the client did`)
  const { error } = body as Partial<ErrorBody>
  mustHold(
    typeof error?.code === 'string' && typeof error.description === 'string',
    'an error has a code and a description'
  )
}

function refusalOf(error: unknown): string | undefined {
  // What is wrong with a field is the same answer of both services.
  const answer = error instanceof PublicError ? error : answerOf(error)
  if (answer === undefined) return undefined
  mustBeErrorBody(answer.status, JSON.parse(JSON.stringify(answer.body())))
  const isBody = answer.details !== undefined && 'body' in answer.details
  return `${String(answer.status)} ${isBody ? 'body' : 'field'}`
}

/** Tries to read a body; whatever it holds, no object but its own must change. */
function read(attempt: () => void): string {
  const outcome = refusedAs(() => {
    attempt()
    return ACCEPTED
  }, refusalOf)
  mustHold(Object.keys(Object.prototype).length === 0, 'nothing is written into the prototype of objects')
  return outcome
}

function mustBeAmount(value: bigint): void {
  mustHold(value >= 0n && value <= UINT64_MAX, 'an amount is an unsigned integer of 64 bits')
  mustHold(parseAmountValue(value.toString()) === value, 'an amount is what it was written as')
}

/** What PostgreSQL does not store. */
const UNSTORABLE = /[\0\p{Surrogate}]/u

function mustBeMetadata(metadata: unknown): void {
  if (metadata === undefined) return
  mustHold(
    typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata),
    'metadata is an object'
  )
  let digits = 0
  JSON.stringify(metadata, (name, value: unknown) => {
    const texts = typeof value === 'string' ? [name, value] : [name]
    mustHold(!texts.some((text) => UNSTORABLE.test(text)), 'metadata can be stored')
    if (typeof value === 'number' && Number.isInteger(value)) digits += BigInt(value).toString().length
    return value
  })
  mustHold(digits <= METADATA_BYTES_MAX, 'metadata is not much longer where it is kept')
}

function mustBeGrantRequest({ access, client, interact }: GrantRequest): void {
  if (client.kind === 'wallet-address') {
    mustHold(
      /^https?:\/\/[^/?#@]+[^?#]*$/.test(client.walletAddress),
      'a client is the URL of a wallet address'
    )
  }
  mustHold(access.length <= 3, 'a grant has three access items at most')
  for (const { limits } of access) {
    if (limits?.interval !== undefined) parseRepeatingInterval(limits.interval)
    for (const limit of [limits?.debitAmount, limits?.receiveAmount]) {
      if (limit !== undefined) mustBeAmount(limit.value)
    }
  }
  const uri = interact?.finish?.uri
  mustHold(
    uri === undefined || /^https?:\/\/[\x21-\x7e]+$/.test(uri),
    'a browser is sent to an http or https URL'
  )
}

const grantBodies = target({
  name: 'bodies of grant requests',
  share: 1_000,
  acceptedMin: 0.1,
  cases: bodyCases(grantRequests(PLACES)),
  attack: ({ body, contentType }) =>
    read(() => {
      const json = parseJsonObject(body, contentType, 'invalid_request')
      mustBeGrantRequest(validate(grantRequestSchema, json, 'invalid_request'))
    })
})

const incomingPaymentBodies = target({
  name: 'bodies of incoming payments',
  share: 600,
  acceptedMin: 0.1,
  cases: bodyCases(incomingPayments(PLACES)),
  attack: ({ body, contentType }) =>
    read(() => {
      const order = readIncomingPayment(parseJsonObject(body, contentType, '400'), Date.UTC(2026, 0))
      if (order.incomingAmount !== undefined) mustBeAmount(order.incomingAmount.value)
      mustHold(Number.isSafeInteger(order.expiresAt ?? 0), 'an instant is whole milliseconds')
      mustBeMetadata(order.metadata)
    })
})

const quoteBodies = target({
  name: 'bodies of quotes',
  share: 500,
  acceptedMin: 0.1,
  cases: bodyCases(quotes(PLACES)),
  attack: ({ body, contentType }) =>
    read(() => {
      const { fixed } = readQuote(parseJsonObject(body, contentType, '400'))
      if (fixed !== undefined) mustBeAmount(fixed.amount.value)
    })
})

const outgoingPaymentBodies = target({
  name: 'bodies of outgoing payments',
  share: 700,
  acceptedMin: 0.1,
  cases: bodyCases(outgoingPayments(PLACES)),
  attack: ({ body, contentType }) =>
    read(() => {
      const order = readOutgoingPayment(parseJsonObject(body, contentType, '400'))
      if (order.form === 'incoming-payment') mustBeAmount(order.debitAmount.value)
      mustBeMetadata(order.metadata)
    })
})

/** A route for identity providers, or one for clients. */
type Route = ReturnType<typeof rejectGrantRoute> | RouteHandler

/** Calls a route with what it needs of a request and an answer. Resolves when it has answered. */
async function callRoute(route: Route, { body, contentType }: BodyCase): Promise<void> {
  const request = {
    params: { id: '', nonce: '' },
    param: () => '',
    method: 'POST',
    originalUrl: '/',
    headersDistinct: {},
    body,
    get: () => contentType
  }
  const response: object = {
    json: () => response,
    status: () => response,
    end: () => response,
    sendJson: () => undefined
  }
  await route(request as never, response as never, () => undefined)
}

const routeBodies = target({
  name: 'bodies of continuations and refusals',
  share: 200,
  acceptedMin: 0.1,
  cases: bodyCases(continuations, IDENTITY_PROVIDER_BODY_BYTES_MAX),
  async attack(input) {
    let told: string | undefined
    const tell = (text: string | undefined): Promise<void> => {
      told = text
      return Promise.resolve()
    }
    const continueGrant = continueGrantRoute(
      { continueGrant: (_grant: unknown, reference: string | undefined) => tell(reference) } as never,
      { authorizeContinuation: () => Promise.resolve({}) } as never,
      'https://auth.wallet.example/'
    )
    const rejectGrant = rejectGrantRoute({ rejectGrant: (_id, _nonce, reason) => tell(reason) })
    const outcomes: string[] = []
    for (const route of [continueGrant, rejectGrant]) {
      try {
        await callRoute(route, input)
        mustHold((told ?? '').length <= 500, 'what is told has an end')
        outcomes.push(ACCEPTED)
      } catch (error) {
        const kind = refusalOf(error)
        if (kind === undefined) throw error
        outcomes.push(kind)
      }
    }
    return outcomes.includes(ACCEPTED) ? ACCEPTED : (outcomes[0] ?? '')
  }
})

// What the auth server fetches from hosts that strangers name.

const walletAddressDocument = fc.record({
  id: fc.constantFrom(undefined, 'https://wallet.example/alice'),
  publicName: fc.oneof(anyText, fc.constantFrom(null, undefined, 'x'.repeat(1_000), '\u202e'.repeat(300))),
  assetCode: fc.constant('USD'),
  assetScale: fc.nat(255),
  authServer: fc.constant('https://auth.wallet.example/')
})
const documents = fc.oneof(
  walletAddressDocument,
  fc.array(jwk, { maxLength: 3 }).map((keys) => ({ keys })),
  fc.record({
    receivedAmount: fc.record({ assetCode: fc.constant('USD'), assetScale: fc.nat(255), value: anyText })
  })
)

const strangersDocuments = target({
  name: 'documents of strangers',
  share: 500,
  acceptedMin: 0.1,
  cases: bodies(documents, BODY_BYTES_MAX),
  async attack(body) {
    const value = parseLeniently(body)
    if (value === undefined) return 'not JSON'
    const walletAddress = readWalletAddress(value)
    const name = walletAddress?.publicName
    mustHold(
      name === undefined || (name.length <= 256 && !/[\p{Cc}\p{Cf}\p{Surrogate}]/u.test(name)),
      'a name can be shown'
    )
    const keys = readKeys(value)
    mustHold((keys?.size ?? 0) <= KEYS_MAX, 'a client has no more keys than are read')
    for (const [kid, key] of keys ?? []) {
      const { asymmetricKeyType } = await importEd25519Jwk(key)
      mustHold(kid !== '' && asymmetricKeyType === 'ed25519', 'a key is an Ed25519 key')
    }
    const asset = readReceiverAsset(value)
    const isRead = walletAddress !== undefined || (keys?.size ?? 0) > 0 || asset !== undefined
    return isRead ? ACCEPTED : 'nothing to read'
  }
})

/** What the client that fetches documents makes of one; undefined when it is not JSON in UTF-8. */
function parseLeniently(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown
  } catch {
    return undefined
  }
}

/** Everything that is read from bodies. */
export const BODY_TARGETS: readonly AnyTarget[] = [
  grantBodies,
  incomingPaymentBodies,
  quoteBodies,
  outgoingPaymentBodies,
  routeBodies,
  strangersDocuments
]
