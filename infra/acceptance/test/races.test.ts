import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import {
  consentedToken,
  interact,
  outgoingAccess,
  requestInteractiveGrant,
  requestToken
} from '../src/consent.js'
import { allSettled, amount, createReceiver, pay } from '../src/payments.js'
import { OPENING_BALANCE, startSystem, type System } from '../src/system.js'

function countByStatus(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

function times<Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

describe('requests that race each other', () => {
  let system: System
  beforeAll(async () => {
    system = await startSystem()
  })
  afterAll(() => system.stop())

  const spent = async (accessToken: string): Promise<bigint> => {
    const { spentDebitAmount } = await callUnary(
      system.limits,
      'getSpentAmounts',
      auth.GetSpentAmountsRequest.fromPartial({ accessToken }),
      { idempotent: true }
    )
    return BigInt(spentDebitAmount?.value ?? 0)
  }

  it('60 payments on a grant with room for 10: exactly 10 succeed, the rest are unauthorized', async () => {
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [
      outgoingAccess(system, { debitAmount: amount(1000) })
    ])
    const before = await system.balance('alice')
    const answers = await times(60, () => pay(system, system.shop, token, receiver.url, 100n))
    expect(countByStatus(answers)).toEqual({ 201: 10, 403: 50 })
    for (const answer of answers.filter(({ status }) => status === 403)) {
      expect(answer.at('error.description')).toBe('unauthorized')
    }
    await allSettled(system)
    expect(await spent(token)).toBe(1000n)
    expect(await system.balance('alice')).toBe(before - 1000n)
    expect(await system.audit()).toEqual([])
  })

  it('ten payments on one quote: one succeeds', async () => {
    const receiver = await createReceiver(system, system.shop, { incoming: 500n })
    const quoteToken = await requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])
    const quote = await system.shop.request('POST', `${system.resourceServerUrl}/quotes`, {
      accessToken: quoteToken,
      body: { walletAddress: system.walletAddresses.alice, receiver: receiver.url, method: 'ilp' }
    })
    const { token } = await consentedToken(system, system.shop, [
      outgoingAccess(system, { debitAmount: amount(100_000) })
    ])
    const answers = await times(10, (index) =>
      system.shop.request('POST', `${system.resourceServerUrl}/outgoing-payments`, {
        accessToken: token,
        body: {
          walletAddress: system.walletAddresses.alice,
          quoteId: quote.textAt('id'),
          metadata: { index }
        }
      })
    )
    expect(countByStatus(answers)).toEqual({ 201: 1, 400: 9 })
    expect(new Set(answers.map((answer) => answer.at('error.description')))).toEqual(
      new Set([undefined, 'invalid quote'])
    )
    await allSettled(system)
    expect(await spent(token)).toBe(500n)
    expect(await system.audit()).toEqual([])
  })

  it('twelve payments on one incoming payment: never above its amount, and the grant has spent what was sent', async () => {
    const receiver = await createReceiver(system, system.shop, { incoming: 1000n })
    const { token } = await consentedToken(system, system.shop, [
      outgoingAccess(system, { debitAmount: amount(100_000) })
    ])
    const before = await system.balance('alice')
    const answers = await times(12, () => pay(system, system.shop, token, receiver.url, 150n))
    expect(Object.keys(countByStatus(answers)).every((status) => ['201', '400'].includes(status))).toBe(true)
    await allSettled(system)
    const [row] = await system.resourceDatabase.query<{ received: string; completed: boolean }>(
      'select received_value::text as received, completed from incoming_payment where id = $1',
      [receiver.url.split('/').at(-1)]
    )
    const received = BigInt(row?.received ?? -1)
    // Whoever comes after six were delivered finds too little room; whoever was created before gets what is left of it.
    expect([900n, 1000n]).toContain(received)
    expect(row?.completed).toBe(received === 1000n)
    const created = answers.filter(({ status }) => status === 201)
    const states = await Promise.all(
      created.map((answer) => system.shop.request('GET', answer.textAt('id'), { accessToken: token }))
    )
    const sent = states.reduce((sum, answer) => sum + BigInt(answer.textAt('sentAmount.value')), 0n)
    expect(sent).toBe(received)
    expect(states.filter((answer) => answer.at('failed') === true)).toHaveLength(created.length - 6)
    expect(await spent(token)).toBe(received)
    expect(await system.balance('alice')).toBe(before - received)
    expect(await system.audit()).toEqual([])
  })

  it('four continuations: one token', async () => {
    const grant = await requestInteractiveGrant(system, system.shop, [outgoingAccess(system)])
    const finished = await interact(system, grant, 'accept')
    system.clock.advanceSeconds(6)
    const answers = await times(4, () =>
      system.shop.request('POST', grant.continueUri, {
        accessToken: grant.continuationToken,
        body: { interact_ref: finished.searchParams.get('interact_ref') }
      })
    )
    expect(countByStatus(answers)).toEqual({ 200: 1, 401: 3 })
    for (const answer of answers.filter(({ status }) => status === 401)) {
      expect(answer.at('error.code')).toBe('request_denied')
    }
  })

  it('five rotations: one winner', async () => {
    const issued = await system.shop.request('POST', system.authServerUrl, {
      body: {
        client: system.shop.walletAddress,
        access_token: { access: [{ type: 'quote', actions: ['create'] }] }
      }
    })
    const answers = await times(5, () =>
      system.shop.request('POST', issued.textAt('access_token.manage'), {
        accessToken: issued.textAt('access_token.value')
      })
    )
    expect(countByStatus(answers)).toEqual({ 200: 1, 404: 4 })
    for (const answer of answers.filter(({ status }) => status === 404)) {
      expect(answer.at('error.code')).toBe('invalid_rotation')
    }
  })

  it('the very same signed payment sent eight times pays once, and each is answered the same', async () => {
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [
      outgoingAccess(system, { debitAmount: amount(1000) })
    ])
    const before = await system.balance('alice')
    const body = {
      walletAddress: system.walletAddresses.alice,
      incomingPayment: receiver.url,
      debitAmount: amount(700)
    }
    // The clock stands still and Ed25519 is deterministic: all eight carry the same signature.
    const answers = await times(8, () =>
      system.shop.request('POST', `${system.resourceServerUrl}/outgoing-payments`, {
        accessToken: token,
        body
      })
    )
    expect(countByStatus(answers)).toEqual({ 201: 8 })
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    await allSettled(system)
    expect(await spent(token)).toBe(700n)
    expect(await system.balance('alice')).toBe(before - 700n)
    expect(await system.audit()).toEqual([])
  })

  it('payments of the whole balance at once: no account is ever overdrawn, and what fails is given back', async () => {
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    const balance = await system.balance('alice')
    expect(balance).toBeLessThanOrEqual(OPENING_BALANCE)
    const half = balance / 2n
    const answers = await times(6, () => pay(system, system.shop, token, receiver.url, half))
    expect(countByStatus(answers)).toEqual({ 201: 6 })
    await allSettled(system)
    const failed = (
      await Promise.all(
        answers.map((answer) => system.shop.request('GET', answer.textAt('id'), { accessToken: token }))
      )
    ).filter((answer) => answer.at('failed') === true)
    expect(failed).toHaveLength(4)
    expect(await system.balance('alice')).toBe(balance - 2n * half)
    expect(await spent(token)).toBe(2n * half)
    expect(await system.audit()).toEqual([])
  })
})
