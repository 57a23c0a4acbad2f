import { BlockList, isIP } from 'node:net'
import { parse as parseQuery } from 'node:querystring'
import { isRpcError } from '@open-payments-server/grpc-transport'
import { isPublicAddress, OutgoingRequestError, URL_LENGTH_MAX } from '@open-payments-server/http-client'
import { readPreference, targetUri } from '@open-payments-server/http-server'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import {
  AmountError,
  formatAmount,
  parseAmount,
  parseRate,
  UINT64_MAX
} from '@open-payments-server/value-types/amounts'
import {
  describeInterval,
  INTERVAL_LENGTH_MAX,
  intervalBounds,
  IntervalError,
  intervalIndexAt,
  parseRepeatingInterval
} from '@open-payments-server/value-types/intervals'
import fc from 'fast-check'
import { formatCursor as formatEventCursor, parseCursor } from '../../../../../packages/events/src/cursor.js'
import { maxAgeSeconds } from '../../../../../packages/http-client/src/max-age.js'
import { parseTarget } from '../../../../../packages/http-client/src/target.js'
import { readRetryAfter } from '../../../../../packages/webhooks/src/schedule.js'
import {
  readPageToken,
  readTextToken,
  writePageToken,
  writeTextToken
} from '../../../../../packages/service-kit/src/grpc/pages.js'
import { CallRefused } from '../../../../../services/auth-server/src/domain/call-refused.js'
import { createInteractionCookie } from '../../../../../services/auth-server/src/http/interaction-cookie.js'
import { isSameSecret, parseGnapToken } from '../../../../../services/auth-server/src/domain/secrets.js'
import {
  createAddresses,
  isSameEndpoint,
  normalizeWalletAddress,
  parseHttpUrl,
  withQuery
} from '../../../../../services/auth-server/src/domain/urls.js'
import { checkFinishUri } from '../../../../../services/auth-server/src/features/request-grant/request-checks.js'
import { readUrl } from '../../../../../services/auth-server/src/grpc/request-fields.js'
import { formatCursor } from '../../../../../services/resource-server/src/domain/pagination.js'
import { readIdempotencyKey } from '../../../../../services/resource-server/src/domain/payment-identity.js'
import { createResourceUrls } from '../../../../../services/resource-server/src/domain/resource-urls.js'
import {
  findPathProblem,
  PATHLESS_WALLET_ADDRESS
} from '../../../../../services/resource-server/src/domain/wallet-address.js'
import { readAccessToken } from '../../../../../services/resource-server/src/features/authorize-request/read-access-token.js'
import { parseListQuery } from '../../../../../services/resource-server/src/features/list-payments/query.js'
import { createChooseRepresentation } from '../../../../../services/resource-server/src/http/representation.js'
import { listQueries, pageTokens, TARGET_LENGTH_MAX } from '../generators/lists.js'
import { interval } from '../generators/requests.js'
import { attempts, characterOf, joined, mixed, word } from '../generators/text.js'
import { address, urls } from '../generators/urls.js'
import { ACCEPTED, mustHold, resultOf, type RefusalKind, target } from '../target.js'

/** Maximum length of a header section, in bytes. */
const HEADER_BYTES_MAX = 16_384
/** Maximum length of a gRPC message, in bytes. */
const MESSAGE_BYTES_MAX = 4_194_304
/** Maximum length of a text that reaches a parser of amounts, in characters: a body may consist of one. */
const TEXT_LENGTH_MAX = 65_536

const ofField: RefusalKind = (error) =>
  error instanceof CommonRefusal && error.because === 'invalid-field' ? 'invalid field' : undefined
const ofCall: RefusalKind = (error) => (error instanceof CallRefused ? 'refused' : undefined)

// URLs

const wallets = target({
  name: 'URLs of wallet addresses',
  share: 600,
  cases: urls(URL_LENGTH_MAX),
  attack(text) {
    const isRead = resultOf(() => {
      mustHold({ 'a URL stays as it was written': readUrl(text, 'field') === text })
    }, ofCall)
    const parsed = parseHttpUrl(text)
    mustHold({ 'what HTTP takes, gRPC takes': parsed === undefined || isRead === ACCEPTED })
    const normalized = normalizeWalletAddress(text)
    if (normalized === undefined) return 'refused'
    const isFull = normalized.length === URL_LENGTH_MAX
    mustHold({
      'a wallet address has one spelling': normalizeWalletAddress(normalized) === normalized,
      'a final slash makes no difference': isFull || normalizeWalletAddress(`${normalized}/`) === normalized,
      'both spellings name the same': isSameEndpoint(text, normalized),
      'it has no credentials, query or fragment': /^https?:\/\/[^/?#@\\]+(\/[^?#\\]*)?$/.test(normalized),
      'spelling it right changes no host': new URL(normalized).host === parsed?.host
    })
    return ACCEPTED
  }
})

const references = fc.oneof(fc.base64String(), fc.string({ unit: 'binary', maxLength: 20 }))

const finishUris = target({
  name: 'finish URIs',
  share: 300,
  cases: fc.record({ uri: urls(URL_LENGTH_MAX), reference: references }),
  refusal: ofField,
  attack({ uri, reference }) {
    const url = parseHttpUrl(uri)
    if (url === undefined || uri.includes('#')) return 'no URL'
    checkFinishUri(uri, false)
    const location = withQuery(uri, { hash: 'a+/b=', interact_ref: reference })
    const { host, pathname, searchParams } = new URL(location)
    const isOwnMachine = /^(localhost|127\..*|\[::1\])$/.test(url.hostname)
    mustHold({
      'http leads to the own machine only': url.protocol === 'https:' || isOwnMachine,
      'what the client gave stays as it is': location.startsWith(uri),
      'it can stand in a header': /^[\x21-\x7e]+$/.test(location),
      'the browser is sent where the client said': host === url.host && pathname === url.pathname,
      'the reference arrives': searchParams.getAll('interact_ref').at(-1) === reference,
      'the hash arrives': searchParams.getAll('hash').at(-1) === 'a+/b='
    })
    return ACCEPTED
  }
})

// Addresses that nothing may be fetched from, listed independently of the code that refuses them. One list for each family,
// because the networks of IPv6 contain all of IPv4.
const PRIVATE = {
  ipv4: blockList(
    'ipv4',
    `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.168.0.0/16
    198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`
  ),
  ipv6: blockList('ipv6', '::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20')
}

function blockList(family: 'ipv4' | 'ipv6', networks: string): BlockList {
  const list = new BlockList()
  for (const network of networks.split(/\s+/)) {
    const [first = '', prefix = ''] = network.split('/')
    list.addSubnet(first, Number(prefix), family)
  }
  return list
}

/** Whether a text is a literal address off the public internet. */
function isPrivate(host: string): boolean {
  return isIP(host) === 4 ? PRIVATE.ipv4.check(host) : isIP(host) === 6 && PRIVATE.ipv6.check(host, 'ipv6')
}

const ofFetching: RefusalKind = (error) =>
  error instanceof OutgoingRequestError && ['url', 'address'].includes(error.reason)
    ? error.reason
    : undefined

const fetched = target({
  name: 'URLs to fetch',
  share: 500,
  cases: fc.record({ text: urls(URL_LENGTH_MAX), literal: address }),
  refusal: ofFetching,
  attack({ text, literal }) {
    const isPublic = isIP(literal) !== 0 && !isPrivate(literal)
    mustHold({ 'no private address is public': !isPublicAddress(literal) || isPublic })
    // In development only private hosts are allowed.
    const inDevelopment = resultOf(() => {
      const { protocol, username, password } = parseTarget(text, true)
      mustHold({ 'it is http without credentials': /^https?:$/.test(protocol) && username + password === '' })
    }, ofFetching)
    const url = parseTarget(text, false)
    mustHold({
      'what may be fetched in production may be in development': inDevelopment === ACCEPTED,
      'it is https on its own port': url.protocol === 'https:' && url.port === '',
      'it has no credentials and no fragment': url.username + url.password + url.hash === '',
      'it leads to no private address': !isPrivate(url.hostname.replace(/^\[|\]$/g, '')),
      'it is the same when it is read again': parseTarget(url.href, false).href === url.href
    })
    return ACCEPTED
  }
})

const bases = word(
  'https://wallet.example https://wallet.example/ https://wallet.example/pay http://localhost:4001'
)
const tails = mixed(
  [1, fc.constant('')],
  [4, fc.uuid().map((id) => `/quotes/${id}`)],
  [4, word('/ /alice /alice /alice/shop /a/b/c /quotes/ /alice?a=b //alice /.well-known/pay')]
)

const resources = target({
  name: 'URLs of resources, and targets of requests',
  share: 500,
  cases: fc.record({
    base: bases,
    tail: attempts(tails, TARGET_LENGTH_MAX, word('/ // /. ?'), fc.constantFrom('/', '/quotes/', '/?', '')),
    end: fc.constantFrom('', '', '', '/', '?'),
    id: fc.uuid()
  }),
  attack({ base, tail, end, id }) {
    const served = createResourceUrls(base)
    const url = `${served.base}${tail}${end}`
    for (const collection of ['incoming-payments', 'outgoing-payments', 'quotes'] as const) {
      const found = served.idOf(collection, url) ?? id
      const isOne = isUuid(found) && (found === id || served.of(collection, found) === url)
      const own = served.idOf(collection, served.of(collection, id))
      mustHold({ 'a resource is found by its URL': own === id, 'a resource has one URL': isOne })
    }
    const asSent = tail.replace(/^\//, '')
    mustHold({ 'what is signed ends as it was sent': targetUri(base, tail).endsWith(asSent) })
    const path = served.walletAddressPathOf(url)
    if (path === undefined || findPathProblem(path) !== undefined) return 'no wallet address'
    // The wallet address without a path is served under two paths.
    const known = path === PATHLESS_WALLET_ADDRESS ? served.base : url
    mustHold({ 'a wallet address has one URL': served.ofWalletAddress(path) === known })
    return ACCEPTED
  }
})

// Intervals and amounts

const ofInterval: RefusalKind = (error) => (error instanceof IntervalError ? 'refused' : undefined)

/** The first and the last supported instant, those next to them, instants beyond the range, and any other. */
const instants = fc.oneof(
  fc.constantFrom(0, -1, 1, 253_402_300_799_999, 253_402_300_800_000, 8.64e15, -8.64e15),
  fc.integer({ min: 0, max: 253_402_300_799_999 }),
  fc.nat(4e12)
)

// Properties of its intervals are tested in packages/value-types/test/intervals/chains.test.ts.
const intervals = target({
  name: 'repeating intervals',
  share: 800,
  cases: fc.record({
    text: attempts(interval, INTERVAL_LENGTH_MAX, characterOf('RPT/-:.Z+09MD1 ')),
    instantMs: instants,
    number: fc.oneof(fc.constantFrom(2n ** 53n, -(2n ** 53n), 2n ** 64n, 10n ** 30n), fc.bigInt(-100n, 100n))
  }),
  refusal: ofInterval,
  attack({ text, instantMs, number }) {
    const parsed = parseRepeatingInterval(text)
    const { length } = describeInterval(parsed)
    const found = intervalIndexAt(parsed, instantMs)
    const bounds = found === undefined ? undefined : intervalBounds(parsed, found)
    mustHold({
      'an interval can be told in a line': length > 0 && length <= 256,
      'the interval of an instant contains it':
        bounds === undefined || (bounds.startMs <= instantMs && instantMs < bounds.endMs)
    })
    resultOf(() => {
      const { startMs, endMs } = intervalBounds(parsed, number)
      mustHold({ 'an interval is not empty': startMs < endMs })
    }, ofInterval)
    return ACCEPTED
  }
})

const ofAmount: RefusalKind = (error) => (error instanceof AmountError ? error.field : undefined)

const decimals = joined(fc.nat().map(String), word('.'), fc.nat(99).map(String))
const integers = fc.bigInt(0n, UINT64_MAX + 10n).map(String)
const numberPiece = characterOf('019.,-+e \n_x\u0660\uff11')
const codes = fc.constantFrom('USD', 'EUR', '!', 'x'.repeat(32))

const amounts = target({
  name: 'amounts and rates',
  share: 500,
  cases: fc.record({
    value: attempts(integers, TEXT_LENGTH_MAX, numberPiece),
    assetCode: attempts(codes, 33),
    assetScale: mixed([6, fc.nat(255)], [1, fc.constantFrom(-1, 256, 0.5, NaN, -0)]),
    rate: attempts(fc.oneof(integers, decimals), TEXT_LENGTH_MAX, numberPiece)
  }),
  refusal: ofAmount,
  attack({ rate, ...amount }) {
    resultOf(() => {
      const { numerator, denominator } = parseRate(rate)
      mustHold({ 'a rate is more than nothing': numerator > 0n && denominator > 0n })
    }, ofAmount)
    const { value, assetCode } = formatAmount(parseAmount(amount))
    mustHold({
      'an amount has one spelling': value === amount.value && assetCode === amount.assetCode,
      'an amount is an unsigned integer of 64 bits': BigInt(value) <= UINT64_MAX
    })
    return ACCEPTED
  }
})

// Lists

const queries = target({
  name: 'queries and cursors of lists',
  share: 300,
  cases: listQueries('https://wallet.example/alice'),
  refusal: ofField,
  attack(query) {
    // Queries as express parses them here.
    const parameters = parseQuery(query)
    const { page } = parseListQuery(parameters)
    const cursor = page.position === undefined ? undefined : formatCursor(page.position)
    mustHold({
      'a page has 1 to 100 items': page.limit >= 1 && page.limit <= 100,
      'a cursor has one spelling': cursor === parameters.cursor
    })
    return ACCEPTED
  }
})

const ofPage: RefusalKind = (error) => (isRpcError(error) ? 'refused' : undefined)

const eventCursors = target({
  name: 'cursors of events',
  share: 100,
  cases: attempts(word('resource-server.0 resource-server.4711 auth-server.1'), MESSAGE_BYTES_MAX),
  attack(cursor) {
    const number = parseCursor('resource-server', cursor)
    if (number === undefined) return 'refused'
    mustHold({
      'a cursor has one spelling': formatEventCursor('resource-server', number) === cursor,
      'its number can be stored': number >= 0n && number < 2n ** 63n
    })
    return ACCEPTED
  }
})

const tokens = target({
  name: 'page tokens',
  share: 200,
  cases: pageTokens(MESSAGE_BYTES_MAX),
  attack(token) {
    const ofTime = resultOf(() => {
      const end = readPageToken(token)
      const again = end && readPageToken(writePageToken(end))
      const isSame = again?.id === end?.id && again?.createdAtMs === end?.createdAtMs
      mustHold({ 'a token says where a page ended': isSame })
    }, ofPage)
    const ofText = resultOf(() => {
      const text = readTextToken(token)
      mustHold({ 'a token has one spelling': writeTextToken(text) === token })
      mustHold({ 'a token can be looked for': !text.includes('\0') })
    }, ofPage)
    return [ofTime, ofText].includes(ACCEPTED) ? ACCEPTED : 'refused'
  }
})

// Headers

function header(proper: fc.Arbitrary<string>, pieces: string): fc.Arbitrary<string> {
  const piece = mixed([3, word(pieces)], [1, fc.constantFrom(' ', '\t')])
  return attempts(proper, HEADER_BYTES_MAX, piece, mixed([3, word(pieces)], [1, fc.constant('')]))
}

const accepts = fc.constantFrom('application/json', '*/*', 'application/json;q=0.5, text/html')
const ages = fc.constantFrom('max-age=60', 'no-store', 'public, max-age="5"')
const kept = fc.constantFrom('interaction=abc', 'a=b; interaction=c', '__Secure-interaction="d"')
const cookies = ['https://auth.wallet.example/', 'http://localhost:4000/'].map((url) =>
  createInteractionCookie(createAddresses(url), 600)
)

const waits = fc.nat(99_999).map((seconds) => `wait=${String(seconds)}`)
const retries = fc.constantFrom('120', 'Wed, 25 Nov 2026 10:01:00 GMT')

const chooseRepresentation = createChooseRepresentation('negotiated')

const headers = target({
  name: 'values of headers',
  share: 300,
  cases: fc.record({
    authorization: header(fc.stringMatching(/^GNAP [abcXYZ019\-._~+/]{1,60}$/), 'GNAP gnap a = / Bearer'),
    idempotencyKey: header(fc.uuid(), 'a !'),
    accept: header(accepts, 'application/json , ;q=0 ; */*'),
    cacheControl: header(ages, 'max-age= , " 9 no-cache ='),
    cookie: header(kept, 'interaction= ; = " % a=b; __proto__=a;'),
    prefer: header(waits, 'wait= " \\ , ; = respond-async'),
    retryAfter: header(retries, '1 GMT , :'),
    secret: header(word('the-secret'), 'the-secret a')
  }),
  attack({ authorization, idempotencyKey, accept, cacheControl, cookie, prefer, retryAfter, secret }) {
    const token = readAccessToken([authorization])
    const seconds = maxAgeSeconds({ 'cache-control': cacheControl, age: idempotencyKey }) ?? 0
    const read = cookies.flatMap((each) => Object.values(each.read(cookie)).map((value) => typeof value))
    mustHold({
      'a token is a token68': /^[A-Za-z0-9\-._~+/]{1,512}=*$/.test(token ?? 'a'),
      'both services read the same token':
        token === undefined || parseGnapToken(authorization.trim()) === token,
      'two tokens are none': readAccessToken([authorization, authorization]) === undefined,
      'there are two shapes': ['full', 'published'].includes(chooseRepresentation({ get: () => accept })),
      'a preference is a text, or none': ['string', 'undefined'].includes(
        typeof readPreference(prefer, 'wait')
      ),
      'a plain preference is read':
        !/^wait=\d+$/.test(prefer) || readPreference(prefer, 'wait') === prefer.slice(5),
      'nobody is asked again in the past': (readRetryAfter(retryAfter, Date.UTC(2026, 10, 25)) ?? 0) >= 0,
      'an age is seconds': seconds >= 0 && seconds <= 2 ** 31,
      'what a cookie keeps is text': read.every((type) => type === 'string' || type === 'undefined'),
      'only the same secret is the same': isSameSecret(secret, 'the-secret') === (secret === 'the-secret')
    })
    resultOf(() => {
      mustHold({ 'a key has an end': (readIdempotencyKey(idempotencyKey) ?? '').length <= 255 })
    }, ofField)
    return token === undefined ? 'no token' : ACCEPTED
  }
})

/** All parsers of single texts: URLs, intervals, amounts, list parameters, headers. */
export const TEXT_TARGETS = [
  ...[wallets, finishUris, fetched, resources],
  ...[intervals, amounts, queries, eventCursors, tokens, headers]
]
