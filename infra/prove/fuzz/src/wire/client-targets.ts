import { callUnary, isRpcError, status } from '@open-payments-server/grpc-transport'
import { auth, wallet } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import fc from 'fast-check'
import { bodies } from '../generators/json.js'
import { encodeLeniently, listQueries, pageTokens } from '../generators/lists.js'
import {
  continuations,
  grantRequests,
  incomingPayments,
  outgoingPayments,
  quotes,
  refunds
} from '../generators/requests.js'
import { anyText, grown, mixed, mutated, word } from '../generators/text.js'
import { BODY_BYTES_MAX } from '../targets/bodies.js'
import { ACCEPTED, type AnyTarget, mustHold, target } from '../target.js'
import { checkAnswer } from './answers.js'
import { staysHere, type World } from './world.js'

/** Texts that a client can sign as a header: printable ASCII. */
function sendable(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return texts.map((text) => text.replace(/[^\t\x20-\x7e]/g, '').trim())
}

const json = fc.constant('application/json')
const headers = fc.record(
  {
    'content-type': mixed([20, json], [1, sendable(mutated(json))]),
    'idempotency-key': mixed([2, fc.uuid()], [1, sendable(anyText)])
  },
  { requiredKeys: ['content-type'] }
)

/** Requests with a body, and their paths. */
function signedBodies(world: World) {
  const { system, places, tokens, refundToken, pending } = world
  const at = (collection: keyof World['tokens'], values: fc.Arbitrary<unknown>) =>
    [`${system.resourceServerUrl}/${collection}`, tokens[collection], values] as const
  const creations = [
    [system.authServerUrl, undefined, grantRequests(places)] as const,
    [pending.continueUri, pending.continuationToken, continuations] as const,
    at('incoming-payments', incomingPayments(places)),
    at('quotes', quotes(places)),
    at('outgoing-payments', outgoingPayments(places)),
    [`${system.resourceServerUrl}/outgoing-payments`, refundToken, refunds(places)] as const
  ]
  return fc.oneof(
    ...creations.map(([url, accessToken, values]) => {
      const body = fc
        .tuple(bodies(values, BODY_BYTES_MAX), values)
        .map(([tried, proper]) => (staysHere(tried, world) ? tried : Buffer.from(JSON.stringify(proper))))
      return fc.record({ url: fc.constant(url), accessToken: fc.constant(accessToken), body, headers })
    })
  )
}

/** Reads of lists and of single resources. */
function reads({ system, places, tokens }: World): fc.Arbitrary<{ url: string; accessToken: string }> {
  const [, payer, payee] = places.walletAddresses
  const known = [...places.receivers, ...places.quotes].map((url) => url.slice(url.lastIndexOf('/') + 1))
  const ids = fc.oneof(fc.constantFrom(...known), fc.uuid(), mutated(fc.uuid()).map(encodeLeniently))
  const single = ids.map((id) => `/${id}`)
  const list = (walletAddress: string): fc.Arbitrary<string> =>
    listQueries(walletAddress).map((query) => `?${query.replace(/[\p{Surrogate}#]/gu, '')}`)
  const of = (collection: keyof World['tokens'], ends: fc.Arbitrary<string>) => {
    const base = `${system.resourceServerUrl}/${collection}`
    return ends.map((end) => ({ url: base + end, accessToken: tokens[collection] }))
  }
  return fc.oneof(
    of('incoming-payments', fc.oneof(list(payee), single)),
    of('outgoing-payments', fc.oneof(list(payer), single)),
    of('quotes', single)
  )
}

// Preferences of how to wait, and of streams. For a payment that has not ended, a client asks for no long wait here.
const prefers = word(
  'wait=0 wait=60 WAIT="7" wait=99999999999999999999 respond-async,wait=5 wait;a="b",wait=0'
)
const preferPiece = word('wait= wait , ; " \\ = 0 -1 1.5')
const shortPrefers = word(
  'wait=0 wait=0 wait=00 wait wait=-1 wait=0.5 wait=1s wait="0" wait= respond-async wait=1'
)
const eventIds = word('0 1 17 999999999999999999 1000000000000000000 -1 01 1.0 a')
const acceptsStream = word(
  'text/event-stream text/event-stream;q=0.9,*/* application/json;q=0.1,text/event-stream'
)
const acceptsAny = mixed(
  [1, word('application/json */* text/event-stream;q=0,*/* text/event-stream,application/json')],
  [2, acceptsStream]
)
/** How a client may have what it reads already. */
const tags = word('* "a" W/"a","b" the-tag the-tag')
/** Room for a single value in the header section of 16,384 bytes, in characters. */
const HEADER_VALUE_LENGTH_MAX = 12_288

interface WaitingRead {
  readonly collection: 'incoming-payments' | 'outgoing-payments'
  readonly hasEnded: boolean
  readonly headers: Readonly<Record<string, string>>
}

function header(
  values: fc.Arbitrary<string>,
  pieces?: fc.Arbitrary<string>
): fc.Arbitrary<string | undefined> {
  const tried = mixed([3, values], [2, mutated(values, pieces)], [1, grown(values, HEADER_VALUE_LENGTH_MAX)])
  return fc.option(sendable(tried), { nil: undefined, freq: 2 })
}

const ofEnded = fc.record({
  prefer: header(prefers, preferPiece),
  'last-event-id': header(eventIds),
  accept: header(acceptsAny),
  'if-none-match': header(tags)
})
const ofOpen = fc.record({
  prefer: fc.option(shortPrefers, { nil: undefined, freq: 5 }),
  'last-event-id': header(eventIds),
  accept: word('application/json */*'),
  'if-none-match': header(tags)
})

const waitingReads: fc.Arbitrary<WaitingRead> = fc
  .record({
    collection: fc.constantFrom('incoming-payments', 'outgoing-payments'),
    ended: ofEnded,
    open: ofOpen,
    isOpen: mixed([1, fc.constant(true)], [3, fc.constant(false)])
  })
  .map(({ collection, ended, open, isOpen }) => {
    // Only the incoming payment stays open.
    const hasEnded = collection === 'outgoing-payments' || !isOpen
    const some = Object.entries(hasEnded ? ended : open)
    return {
      collection,
      hasEnded,
      headers: Object.fromEntries(
        some.filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '')
      )
    }
  })

/** How long an answer may take beyond the wait that was asked for, in milliseconds. */
const ANSWER_MS_MAX = 2_000

/** How long a read is to wait, in milliseconds. */
function waitMsOf({ hasEnded, headers: { prefer } }: WaitingRead): number {
  return !hasEnded && prefer === 'wait=1' ? 1_000 : 0
}

/** Reads a payment as a client that waits. @returns the answer in words */
async function readWaiting(world: World, asked: WaitingRead): Promise<string> {
  const { collection, hasEnded, headers: some } = asked
  const { system, places, tokens, ended } = world
  const url = { 'incoming-payments': ended.incoming, 'outgoing-payments': ended.outgoing }[collection]
  const options = { accessToken: tokens[collection], outsideContract: WAITING }
  const read = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
    system.shop.request('GET', hasEnded ? url : places.receivers[0], { ...options, headers })
  const before = await read({})
  const tag = before.headers.get('etag') ?? ''
  const sent = Object.fromEntries(
    Object.entries(some).map(([name, value]) => [name, value.replace('the-tag', tag)])
  )
  const startedMs = performance.now()
  const answer = await read(sent)
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true
  mustHold({
    'nobody waits longer than was asked for': performance.now() - startedMs < waitMsOf(asked) + ANSWER_MS_MAX,
    'reading changes nothing': (await read({})).text === before.text,
    'what is not modified was known': answer.status !== 304 || sent['if-none-match'] !== undefined,
    'who knows all came back for more': answer.status !== 204 || sent['last-event-id'] !== undefined,
    'only who prefers a stream gets one': !isStream || /event-stream/i.test(sent.accept ?? ''),
    'a stream ends by saying when to come back': !isStream || /retry: \d+\n\n$/.test(answer.text),
    [`the wrong header is named: ${answer.text}`]:
      answer.status !== 400 || /Prefer|Last-Event-ID/.test(answer.text)
  })
  return check(answer, 'GET')
}

const WAITING = { reason: 'streams and preferences are additions to the contract' }

function check({ status: code, headers: some, text: body }: Answer, method: string): string {
  return checkAnswer({ status: code, header: (name) => some.get(name), body }, method)
}

/** Maximum length of a sent page token, in characters: many times longer than any real one, and short enough to be sent often. */
const PAGE_TOKEN_LENGTH_MAX = 65_536

/** Every list that operators and services read in pages. */
const LISTS = [
  'accounts',
  'wallet addresses',
  'incoming payments',
  'outgoing payments',
  'grants',
  'reservations'
] as const

interface PageAttack {
  readonly list: (typeof LISTS)[number]
  readonly pageToken: string
  readonly pageSize: number
}

/** Requests one page. @returns that it was accepted, or the code of its refusal */
async function readPage({ system }: World, { list, ...page }: PageAttack): Promise<string> {
  const call = { idempotent: true }
  const { operator, grantOperator, limits } = system
  const anyGrant = { identifier: '', clientWalletAddress: '', state: auth.GrantState.GRANT_STATE_UNSPECIFIED }
  const payments = (kind: wallet.PaymentKind) =>
    callUnary(operator, 'listPayments', wallet.ListPaymentsRequest.fromPartial({ ...page, kind }), call)
  const read: Record<PageAttack['list'], () => Promise<unknown>> = {
    accounts: () => callUnary(operator, 'listAccounts', { ...page, name: '' }, call),
    'wallet addresses': () =>
      callUnary(operator, 'listWalletAddresses', wallet.ListWalletAddressesRequest.fromPartial(page), call),
    'incoming payments': () => payments(wallet.PaymentKind.PAYMENT_KIND_INCOMING),
    'outgoing payments': () => payments(wallet.PaymentKind.PAYMENT_KIND_OUTGOING),
    grants: () => callUnary(grantOperator, 'listGrants', { ...page, ...anyGrant }, call),
    reservations: () => callUnary(limits, 'listOpenReservations', { ...page, olderThanSeconds: 0 }, call)
  }
  try {
    await read[list]()
    return ACCEPTED
  } catch (error) {
    mustHold({
      [`a page is returned or refused: ${String(error)}`]: isRpcError(error, status.INVALID_ARGUMENT)
    })
    return 'INVALID_ARGUMENT'
  }
}

/** Requests of authenticated clients and operators: they reach the code behind authentication. */
export function clientTargets(world: () => World): readonly AnyTarget[] {
  return [
    target({
      name: 'signed bodies over HTTP',
      share: 90,
      cases: () => signedBodies(world()),
      async attack({ url, ...options }) {
        const { system, pending } = world()
        const answer = await system.shop.request('POST', url, options)
        const mayBeUnknown = url === pending.continueUri || url === system.authServerUrl
        mustHold({ 'a request that is signed is known': answer.status !== 401 || mayBeUnknown })
        return check(answer, 'POST')
      }
    }),
    target({
      name: 'signed reads over HTTP',
      share: 20,
      acceptedMin: 0.05,
      cases: () => reads(world()),
      attack: async ({ url, accessToken }) =>
        check(await world().system.shop.request('GET', url, { accessToken }), 'GET')
    }),
    target({
      name: 'waiting reads over HTTP',
      share: 40,
      cases: waitingReads,
      attack: (read) => readWaiting(world(), read),
      waitMs: waitMsOf
    }),
    target({
      name: 'page tokens over gRPC',
      share: 60,
      acceptedMin: 0.05,
      cases: fc.record({
        list: fc.constantFrom(...LISTS),
        pageToken: mixed([1, fc.constant('')], [9, pageTokens(PAGE_TOKEN_LENGTH_MAX)]),
        pageSize: fc.constantFrom(0, 1, 2, 1_000, 1_001, 4_294_967_295)
      }),
      attack: (page) => readPage(world(), page)
    })
  ]
}
