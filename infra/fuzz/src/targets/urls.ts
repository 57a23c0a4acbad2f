import { BlockList, isIP } from 'node:net'
import { isPublicAddress, OutgoingRequestError, URL_LENGTH_MAX } from '@open-payments-server/http-client'
import { targetUri } from '@open-payments-server/http-server'
import { isRpcError } from '@open-payments-server/grpc-transport'
import { isUuid, Refusal } from '@open-payments-server/runtime'
import fc from 'fast-check'
import { parseTarget } from '../../../../packages/http-client/src/target.js'
import { readUrl } from '../../../../services/auth-server/src/grpc/request-fields.js'
import {
  isSameEndpoint,
  normalizeWalletAddress,
  parseHttpUrl,
  withQuery
} from '../../../../services/auth-server/src/domain/urls.js'
import { checkFinishUri } from '../../../../services/auth-server/src/features/request-grant/request-checks.js'
import { createResourceUrls } from '../../../../services/resource-server/src/domain/resource-urls.js'
import {
  findPathProblem,
  PATHLESS_WALLET_ADDRESS
} from '../../../../services/resource-server/src/domain/wallet-address.js'
import { grown, mutated, oddPiece } from '../generators/text.js'
import { address, urls } from '../generators/urls.js'
import { ACCEPTED, type AnyTarget, mustHold, refusedAs, target } from '../target.js'

/** Longest request target that a listener takes, in characters. */
const TARGET_LENGTH_MAX = 8_192

const wallets = target({
  name: 'URLs of wallet addresses',
  share: 600,
  acceptedMin: 0.1,
  cases: urls(URL_LENGTH_MAX),
  attack(text) {
    const isRead = refusedAs(
      () => (mustHold(readUrl(text, 'field') === text, 'a URL stays as it was written'), ACCEPTED),
      (error) => (isRpcError(error) ? 'refused' : undefined)
    )
    const parsed = parseHttpUrl(text)
    mustHold(parsed === undefined || isRead === ACCEPTED, 'what HTTP takes, gRPC takes')
    const normalized = normalizeWalletAddress(text)
    if (normalized === undefined) return 'refused'
    mustHold(normalizeWalletAddress(normalized) === normalized, 'a wallet address has one spelling')
    mustHold(
      normalized.length === URL_LENGTH_MAX || normalizeWalletAddress(`${normalized}/`) === normalized,
      'a final slash makes no difference'
    )
    mustHold(isSameEndpoint(text, normalized), 'both spellings name the same')
    mustHold(
      /^https?:\/\/[^/?#@\\]+(\/[^?#\\]*)?$/.test(normalized),
      'it has a host, and no credentials, query or fragment'
    )
    mustHold(new URL(normalized).host === parsed?.host, 'spelling it right changes no host')
    return ACCEPTED
  }
})

const finishUris = target({
  name: 'finish URIs',
  share: 300,
  acceptedMin: 0.1,
  cases: fc.record({
    uri: urls(URL_LENGTH_MAX),
    reference: fc.oneof(fc.base64String(), fc.string({ unit: 'binary', maxLength: 20 }))
  }),
  attack({ uri, reference }) {
    const url = parseHttpUrl(uri)
    if (url === undefined || uri.includes('#')) return 'no URL'
    return refusedAs(
      () => {
        checkFinishUri(uri, false)
        mustHold(
          url.protocol === 'https:' || /^(localhost|127\..*|\[::1\])$/.test(url.hostname),
          'http leads to the own machine only'
        )
        const location = withQuery(uri, { hash: 'a+/b=', interact_ref: reference })
        const { host, pathname, searchParams } = new URL(location)
        mustHold(location.startsWith(uri), 'what the client gave stays as it is')
        mustHold(/^[\x21-\x7e]+$/.test(location), 'it can stand in a header')
        mustHold(host === url.host && pathname === url.pathname, 'the browser is sent where the client said')
        mustHold(searchParams.getAll('interact_ref').at(-1) === reference, 'the reference arrives')
        mustHold(searchParams.getAll('hash').at(-1) === 'a+/b=', 'the hash arrives')
        return ACCEPTED
      },
      (error) => (error instanceof Refusal && error.because === 'invalid-field' ? 'not https' : undefined)
    )
  }
})

// What nothing may be fetched from, written down apart from the code that refuses it. One list for each family, because the
// networks of IPv6 hold all of IPv4.
const PRIVATE = {
  4: blockList('ipv4', [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4'
  ]),
  6: blockList('ipv6', [
    '::/3',
    '4000::/2',
    '8000::/1',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '3fff::/20'
  ])
}

function blockList(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [first = '', prefix = ''] = network.split('/')
    list.addSubnet(first, Number(prefix), family)
  }
  return list
}

/** Whether a text is a literal address off the public internet. */
function isPrivate(host: string): boolean {
  const family = isIP(host)
  if (family === 0) return false
  return family === 4 ? PRIVATE[4].check(host) : PRIVATE[6].check(host, 'ipv6')
}

const refusalOfTarget = (error: unknown): string | undefined =>
  error instanceof OutgoingRequestError && ['url', 'address'].includes(error.reason)
    ? error.reason
    : undefined

const fetchTargets = target({
  name: 'URLs to fetch',
  share: 500,
  acceptedMin: 0.1,
  cases: fc.record({ text: urls(URL_LENGTH_MAX), literal: address }),
  attack({ text, literal }) {
    mustHold(
      !isPublicAddress(literal) || (isIP(literal) !== 0 && !isPrivate(literal)),
      'no private address is public'
    )
    // In development private hosts are fine, and nothing else is.
    const inDevelopment = refusedAs(() => {
      const { protocol, username, password } = parseTarget(text, true)
      mustHold(
        /^https?:$/.test(protocol) && username === '' && password === '',
        'it is http without credentials'
      )
      return ACCEPTED
    }, refusalOfTarget)
    return refusedAs(() => {
      const url = parseTarget(text, false)
      mustHold(inDevelopment === ACCEPTED, 'what may be fetched in production may be in development')
      mustHold(url.protocol === 'https:' && url.port === '', 'it is https on its own port')
      mustHold(
        url.username === '' && url.password === '' && url.hash === '',
        'it has no credentials and no fragment'
      )
      mustHold(!isPrivate(url.hostname.replace(/^\[|\]$/g, '')), 'it leads to no private address')
      mustHold(parseTarget(url.href, false).href === url.href, 'it is the same when it is read again')
      return ACCEPTED
    }, refusalOfTarget)
  }
})

const COLLECTIONS = ['incoming-payments', 'outgoing-payments', 'quotes'] as const
const BASES = [
  'https://wallet.example',
  'https://wallet.example/',
  'https://wallet.example/pay',
  'http://localhost:4001'
] as const

const resourceTails = fc.oneof(
  { weight: 3, arbitrary: fc.uuid().map((id) => `/quotes/${id}`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      '/',
      '/alice',
      '/alice/shop',
      '/quotes/',
      '/alice?a=b',
      '//alice',
      '/.well-known/pay'
    )
  },
  { weight: 2, arbitrary: mutated(fc.uuid().map((id) => `/quotes/${id}`)) },
  { weight: 2, arbitrary: mutated(fc.constantFrom('/alice', '/a/b/c')) },
  { weight: 1, arbitrary: grown(oddPiece, TARGET_LENGTH_MAX, fc.constantFrom('/', '/quotes/', '/?', '')) }
)

const resourceUrls = target({
  name: 'URLs of resources, and targets of requests',
  share: 500,
  acceptedMin: 0.1,
  cases: fc.record({ base: fc.constantFrom(...BASES), tail: resourceTails, id: fc.uuid() }),
  attack({ base, tail, id }) {
    const resources = createResourceUrls(base)
    const url = `${resources.base}${tail}`
    for (const collection of COLLECTIONS) {
      mustHold(
        resources.idOf(collection, resources.of(collection, id)) === id,
        'a resource is found by its URL'
      )
      const found = resources.idOf(collection, url)
      mustHold(
        found === undefined || (isUuid(found) && resources.of(collection, found) === url),
        'a resource has one URL'
      )
    }
    const signedTarget = targetUri(base, tail)
    mustHold(signedTarget.endsWith(tail.replace(/^\//, '')), 'what is signed ends as it was sent')
    const path = resources.walletAddressPathOf(url)
    if (path === undefined || findPathProblem(path) !== undefined) return 'no wallet address'
    // The wallet address without a path is served under two.
    const known = path === PATHLESS_WALLET_ADDRESS ? resources.base : url
    mustHold(resources.ofWalletAddress(path) === known, 'a wallet address has one URL')
    return ACCEPTED
  }
})

/** Everything that reads URLs. */
export const URL_TARGETS: readonly AnyTarget[] = [wallets, finishUris, fetchTargets, resourceUrls]
