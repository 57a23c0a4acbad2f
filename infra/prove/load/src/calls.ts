import type { FloorKind } from './floors/statements.js'
import type { RequestOutline } from './generator/messages.js'
import { amount } from '@open-payments-server/acceptance'
import type { Groundwork } from './groundwork.js'
import type { CallTarget } from './stack.js'

/** The group of goals that a call belongs to: see `goals.ts`. */
export type CallClass = 'read' | 'create'

/** A call that is measured. */
export interface Call {
  /** Its name on the command line. */
  readonly name: string
  /** Its title in tables and plots. */
  readonly title: string
  readonly class: CallClass
  /** The floor: the least that it needs. */
  readonly floor: FloorKind
  readonly target: CallTarget
  readonly status: number
  /** Whether the same requests may be sent again. */
  readonly isRepeatable: boolean
  /** Whether work continues after the answers; it must end before anything else is measured. */
  readonly makesPayments?: boolean
  /** Requests per second of the reference implementation at a concurrency of 8, at best. */
  readonly referencePerSecond: number
  /** Whether it is sent without a signature. */
  readonly isPublic?: boolean
  /** Its requests, each used once. */
  outlines(groundwork: Groundwork, count: number): Promise<RequestOutline[]>
}

const repeat = (count: number, outline: (index: number) => RequestOutline): Promise<RequestOutline[]> =>
  Promise.resolve(Array.from({ length: count }, (_, index) => outline(index)))

/** One of some things, in turn. */
export function inTurn<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length]
  if (item === undefined) throw new Error('there is nothing to take in turn')
  return item
}

/** Debit value of every payment, in the smallest unit: one sender pays for a whole run. */
const DEBIT = 2

function paymentBody({ system, receivers }: Groundwork, index: number): object {
  return {
    walletAddress: system.walletAddresses.alice,
    incomingPayment: inTurn(receivers, index),
    debitAmount: amount(DEBIT),
    metadata: { order: index }
  }
}

/** The common parts of all calls that create outgoing payments. */
const PAYMENT = {
  class: 'create',
  floor: 'payment',
  target: 'resource',
  status: 201,
  isRepeatable: false,
  makesPayments: true,
  referencePerSecond: 82
} as const

function paymentOutline({ system }: Groundwork, accessToken: string, body: object): RequestOutline {
  return { method: 'POST', url: `${system.resourceServerUrl}/outgoing-payments`, accessToken, body }
}

/** Every call, in the order in which they are measured: those that fill tables come last. */
export const CALLS: readonly Call[] = [
  {
    name: 'wallet-address',
    title: 'wallet address',
    class: 'read',
    floor: 'public',
    target: 'resource',
    status: 200,
    isRepeatable: true,
    isPublic: true,
    referencePerSecond: 1_360,
    outlines: ({ system }, count) =>
      repeat(count, () => ({ method: 'GET', url: system.walletAddresses.alice }))
  },
  {
    name: 'jwks',
    title: 'keys of a wallet address',
    class: 'read',
    floor: 'public',
    target: 'resource',
    status: 200,
    isRepeatable: true,
    isPublic: true,
    referencePerSecond: 1_570,
    outlines: ({ system }, count) =>
      repeat(count, () => ({ method: 'GET', url: `${system.shop.walletAddress}/jwks.json` }))
  },
  {
    name: 'introspection',
    title: 'introspection (gRPC)',
    class: 'read',
    floor: 'introspection',
    target: 'introspection',
    status: 200,
    isRepeatable: true,
    referencePerSecond: 540,
    outlines: () => Promise.resolve([])
  },
  {
    name: 'incoming-get',
    title: 'get incoming payment',
    class: 'read',
    floor: 'read',
    target: 'resource',
    status: 200,
    isRepeatable: true,
    referencePerSecond: 232,
    outlines: ({ receivers, incomingToken }, count) =>
      repeat(count, (index) => ({
        method: 'GET',
        url: inTurn(receivers, index),
        accessToken: incomingToken
      }))
  },
  {
    name: 'incoming-list',
    title: 'list 20 incoming payments',
    class: 'read',
    floor: 'list',
    target: 'resource',
    status: 200,
    isRepeatable: true,
    referencePerSecond: 86,
    outlines: ({ system, incomingToken }, count) =>
      repeat(count, () => ({
        method: 'GET',
        url: `${system.resourceServerUrl}/incoming-payments?first=20&wallet-address=${encodeURIComponent(system.walletAddresses.bob)}`,
        accessToken: incomingToken
      }))
  },
  {
    name: 'grant',
    title: 'grant, client by wallet address',
    class: 'create',
    floor: 'grant',
    target: 'auth',
    status: 200,
    isRepeatable: false,
    referencePerSecond: 230,
    outlines: (groundwork, count) =>
      repeat(count, () => groundwork.grantOutline(groundwork.system.shop.walletAddress))
  },
  {
    name: 'grant-jwk',
    title: 'grant, client by key',
    class: 'create',
    floor: 'grant',
    target: 'auth',
    status: 200,
    isRepeatable: false,
    referencePerSecond: 330,
    outlines: (groundwork, count) =>
      repeat(count, () => groundwork.grantOutline({ jwk: groundwork.system.shop.key.jwk }))
  },
  {
    name: 'rotate',
    title: 'rotate a token',
    class: 'create',
    floor: 'rotation',
    target: 'auth',
    status: 200,
    isRepeatable: false,
    referencePerSecond: 185,
    async outlines(groundwork, count) {
      const outlines = Array.from({ length: count }, () =>
        groundwork.grantOutline(groundwork.system.shop.walletAddress)
      )
      const made = await groundwork.make('auth', 200, outlines, ['access_token.manage', 'access_token.value'])
      return made.map(([url = '', accessToken = '']) => ({ method: 'POST', url, accessToken }))
    }
  },
  {
    name: 'incoming-create',
    title: 'create incoming payment',
    class: 'create',
    floor: 'create',
    target: 'resource',
    status: 201,
    isRepeatable: false,
    referencePerSecond: 145,
    outlines: (groundwork, count) => repeat(count, (index) => groundwork.incomingOutline(index))
  },
  {
    name: 'quote',
    title: 'create quote',
    class: 'create',
    floor: 'create',
    target: 'resource',
    status: 201,
    isRepeatable: false,
    referencePerSecond: 183,
    outlines: (groundwork, count) => repeat(count, (index) => groundwork.quoteOutline(index))
  },
  {
    name: 'payment',
    title: 'outgoing payment, one grant',
    ...PAYMENT,
    outlines: (groundwork, count) =>
      repeat(count, (index) =>
        paymentOutline(groundwork, groundwork.paymentTokens[0] ?? '', paymentBody(groundwork, index))
      )
  },
  {
    name: 'payment-grants',
    title: 'outgoing payment, 50 grants',
    ...PAYMENT,
    outlines: (groundwork, count) =>
      repeat(count, (index) =>
        paymentOutline(groundwork, inTurn(groundwork.paymentTokens, index), paymentBody(groundwork, index))
      )
  },
  {
    name: 'payment-quoted',
    title: 'outgoing payment from a quote',
    ...PAYMENT,
    async outlines(groundwork, count) {
      const outlines = Array.from({ length: count }, (_, index) => groundwork.quoteOutline(index))
      const quotes = await groundwork.make('resource', 201, outlines, ['id'])
      return quotes.map(([quoteId], index) =>
        paymentOutline(groundwork, inTurn(groundwork.paymentTokens, index), {
          walletAddress: groundwork.system.walletAddresses.alice,
          quoteId,
          metadata: { order: index }
        })
      )
    }
  }
]
/** Payments from creation to received money, at a concurrency of 8. */
export const REFERENCE_COMPLETED_PER_SECOND = 22
