import { randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import { consentedToken, interact, outgoingAccess, requestInteractiveGrant, requestToken } from './consent.js'
import { allSettled, amount, createReceiver, pay } from './payments.js'
import type { System, WalletName } from './system.js'

/** Numbers of racing requests. */
export interface RaceSizes {
  /** Payments on one grant. */
  readonly payments: number
  /** Number of them that fit. */
  readonly room: number
  /** Payments on one quote. */
  readonly quotePayments: number
  /** Payments of 1.50 on one incoming payment. */
  readonly receiverPayments: number
  /** Maximum of that incoming payment, in cents. */
  readonly receiverRoom: bigint
  /** Continuations of one grant. */
  readonly continuations: number
  /** Rotations of one token. */
  readonly rotations: number
  /** How often one signed payment is sent. */
  readonly repetitions: number
  /** Payments of half the balance each. */
  readonly halfBalancePayments: number
}

/** Maximum number of concurrent requests: enough to race, and few enough that none waits for the tests themselves. */
const UNDER_WAY_MAX = 64

/** Maximum duration of one race, including its audit. */
const RACE_TIMEOUT_MS = 300_000

/** Does something many times, as concurrently as the tests themselves can keep up with. */
export async function times<Result>(
  count: number,
  work: (index: number) => Promise<Result>
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const run = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      results[index] = await work(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, UNDER_WAY_MAX) }, run))
  return results
}

/** Number of answers by status. */
function countByStatus(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** What the grant of a token has spent in the current interval, in units of the debit asset. */
export async function spentUnder(system: System, accessToken: string): Promise<bigint> {
  const { spentDebitAmount } = await callUnary(
    system.limits,
    'getSpentAmounts',
    auth.GetSpentAmountsRequest.fromPartial({ accessToken }),
    { idempotent: true }
  )
  return BigInt(spentDebitAmount?.value ?? 0)
}

/** Brings money into an account from outside. */
export async function deposit(system: System, accountName: WalletName, value: bigint): Promise<void> {
  const request = { depositId: randomUUID(), accountName, value: value.toString() }
  await callUnary(system.operator, 'deposit', request, { idempotent: true })
}

/** Declares the tests of races between requests. Each ends with an audit without violations. */
export function itLetsNobodyWinTwice(system: () => System, sizes: RaceSizes): void {
  itHoldsLimits(system, sizes)
  itHoldsReceiversAndQuotes(system, sizes)
  itHasOneWinner(system, sizes)
}

function itHoldsLimits(system: () => System, { payments, room, halfBalancePayments }: RaceSizes): void {
  const refused = payments - room
  it(
    `${payments} payments on a grant with room for ${room}: exactly ${room} succeed, the rest are unauthorized`,
    async () => {
      const { shop } = system()
      const limit = 100n * BigInt(room)
      const receiver = await createReceiver(system(), shop)
      const { token } = await consentedToken(system(), shop, [
        outgoingAccess(system(), { debitAmount: amount(limit) })
      ])
      const before = await system().balance('alice')
      const answers = await times(payments, () => pay(system(), shop, token, receiver.url, 100n))
      expect(countByStatus(answers)).toEqual({ 201: room, 403: refused })
      for (const answer of answers.filter(({ status }) => status === 403)) {
        expect(answer.at('error.description')).toBe('unauthorized')
      }
      await allSettled(system())
      expect(await spentUnder(system(), token)).toBe(limit)
      expect(await system().balance('alice')).toBe(before - limit)
      expect(await system().audit()).toEqual([])
    },
    RACE_TIMEOUT_MS
  )

  it(
    `${halfBalancePayments} payments of half the balance: no account is ever overdrawn, and what fails is given back`,
    async () => {
      const { shop } = system()
      const receiver = await createReceiver(system(), shop)
      const { token } = await consentedToken(system(), shop, [outgoingAccess(system())])
      const balance = await system().balance('alice')
      const half = balance / 2n
      const answers = await times(halfBalancePayments, () => pay(system(), shop, token, receiver.url, half))
      expect(countByStatus(answers)).toEqual({ 201: halfBalancePayments })
      await allSettled(system())
      const ended = await readAll(system(), token, answers)
      expect(ended.filter((answer) => answer.at('failed') === true)).toHaveLength(halfBalancePayments - 2)
      expect(await system().balance('alice')).toBe(balance - 2n * half)
      expect(await spentUnder(system(), token)).toBe(2n * half)
      expect(await system().audit()).toEqual([])
      await deposit(system(), 'alice', 2n * half)
    },
    RACE_TIMEOUT_MS
  )
}

function itHoldsReceiversAndQuotes(system: () => System, sizes: RaceSizes): void {
  const { quotePayments, receiverPayments, receiverRoom } = sizes
  it(
    `${quotePayments} payments on one quote: one succeeds`,
    async () => {
      const { shop, walletAddresses, resourceServerUrl } = system()
      const receiver = await createReceiver(system(), shop, { incoming: 500n })
      const quoteToken = await requestToken(system(), shop, [{ type: 'quote', actions: ['create'] }])
      const quote = await shop.request('POST', `${resourceServerUrl}/quotes`, {
        accessToken: quoteToken,
        body: { walletAddress: walletAddresses.alice, receiver: receiver.url, method: 'ilp' }
      })
      const { token } = await consentedToken(system(), shop, [
        outgoingAccess(system(), { debitAmount: amount(100_000) })
      ])
      const answers = await times(quotePayments, (index) =>
        shop.request('POST', `${resourceServerUrl}/outgoing-payments`, {
          accessToken: token,
          body: { walletAddress: walletAddresses.alice, quoteId: quote.textAt('id'), metadata: { index } }
        })
      )
      expect(countByStatus(answers)).toEqual({ 201: 1, 400: quotePayments - 1 })
      expect(new Set(answers.map((answer) => answer.at('error.description')))).toEqual(
        new Set([undefined, 'invalid quote'])
      )
      await allSettled(system())
      expect(await spentUnder(system(), token)).toBe(500n)
      expect(await system().audit()).toEqual([])
    },
    RACE_TIMEOUT_MS
  )

  it(
    `${receiverPayments} payments on one incoming payment: never above its amount, and the grant has spent what was sent`,
    async () => {
      const { shop } = system()
      const receiver = await createReceiver(system(), shop, { incoming: receiverRoom })
      const { token } = await consentedToken(system(), shop, [
        outgoingAccess(system(), { debitAmount: amount(100_000) })
      ])
      const before = await system().balance('alice')
      const answers = await times(receiverPayments, () => pay(system(), shop, token, receiver.url, 150n))
      expect(Object.keys(countByStatus(answers)).every((status) => ['201', '400'].includes(status))).toBe(
        true
      )
      await allSettled(system())
      const [row] = await system().resourceDatabase.query<{ received: string; completed: boolean }>(
        'select received_value::text as received, completed from incoming_payment where id = $1',
        [receiver.url.split('/').at(-1)]
      )
      const received = BigInt(row?.received ?? -1)
      const whole = receiverRoom / 150n
      // Later payments find too little room; earlier ones get what is left.
      expect([whole * 150n, receiverRoom]).toContain(received)
      expect(row?.completed).toBe(received === receiverRoom)
      const created = answers.filter(({ status }) => status === 201)
      const ended = await readAll(system(), token, created)
      const sent = ended.reduce((sum, answer) => sum + BigInt(answer.textAt('sentAmount.value')), 0n)
      expect(sent).toBe(received)
      expect(ended.filter((answer) => answer.at('failed') === true)).toHaveLength(
        created.length - Number(whole)
      )
      expect(await spentUnder(system(), token)).toBe(received)
      expect(await system().balance('alice')).toBe(before - received)
      expect(await system().audit()).toEqual([])
    },
    RACE_TIMEOUT_MS
  )
}

function itHasOneWinner(system: () => System, sizes: RaceSizes): void {
  const { continuations, rotations, repetitions } = sizes
  it(
    `${continuations} continuations: one token`,
    async () => {
      const { shop } = system()
      const grant = await requestInteractiveGrant(system(), shop, [outgoingAccess(system())])
      const finished = await interact(system(), grant, 'accept')
      await system().passSeconds(grant.waitSeconds)
      const answers = await times(continuations, () =>
        shop.request('POST', grant.continueUri, {
          accessToken: grant.continuationToken,
          body: { interact_ref: finished.searchParams.get('interact_ref') }
        })
      )
      expect(countByStatus(answers)).toEqual({ 200: 1, 401: continuations - 1 })
      for (const answer of answers.filter(({ status }) => status === 401)) {
        expect(answer.at('error.code')).toBe('request_denied')
      }
      expect(await system().audit()).toEqual([])
    },
    RACE_TIMEOUT_MS
  )

  it(
    `${rotations} rotations: one winner`,
    async () => {
      const { shop, authServerUrl } = system()
      const issued = await shop.request('POST', authServerUrl, {
        body: {
          client: shop.walletAddress,
          access_token: { access: [{ type: 'quote', actions: ['create'] }] }
        }
      })
      const answers = await times(rotations, () =>
        shop.request('POST', issued.textAt('access_token.manage'), {
          accessToken: issued.textAt('access_token.value')
        })
      )
      expect(countByStatus(answers)).toEqual({ 200: 1, 404: rotations - 1 })
      for (const answer of answers.filter(({ status }) => status === 404)) {
        expect(answer.at('error.code')).toBe('invalid_rotation')
      }
      expect(await system().audit()).toEqual([])
    },
    RACE_TIMEOUT_MS
  )

  it(
    `the very same signed payment sent ${repetitions} times pays once, and each is answered the same`,
    async () => {
      const { shop, walletAddresses, resourceServerUrl } = system()
      const receiver = await createReceiver(system(), shop)
      const { token } = await consentedToken(system(), shop, [
        outgoingAccess(system(), { debitAmount: amount(1000) })
      ])
      const before = await system().balance('alice')
      const body = {
        walletAddress: walletAddresses.alice,
        incomingPayment: receiver.url,
        debitAmount: amount(700)
      }
      // The clock stands still and Ed25519 is deterministic, so all carry the same signature.
      const answers = await times(repetitions, () =>
        shop.request('POST', `${resourceServerUrl}/outgoing-payments`, { accessToken: token, body })
      )
      expect(countByStatus(answers)).toEqual({ 201: repetitions })
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      await allSettled(system())
      expect(await spentUnder(system(), token)).toBe(700n)
      expect(await system().balance('alice')).toBe(before - 700n)
      expect(await system().audit()).toEqual([])
    },
    RACE_TIMEOUT_MS
  )
}

function readAll(system: System, accessToken: string, created: readonly Answer[]): Promise<Answer[]> {
  return times(created.length, (index) =>
    system.shop.request('GET', created[index]?.textAt('id') ?? '', { accessToken })
  )
}
