import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { changeGrant, refusalOf } from '../src/held-grants.js'
import { allSettled, amount, createReceiver, pay } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

const DAY_MS = 86_400_000

let system: System
beforeAll(async () => {
  // Answers about tokens are cached for much longer than the test takes: the end must come through nevertheless.
  system = await startSystem({ resource: { INTROSPECTION_CACHE_SECONDS: '60' } })
})
afterAll(() => system.stop())

it('a client sees all payments from a wallet until its last day, then its own, and nothing once its holder stops it', async () => {
  const { shop, market } = system
  const receiver = await createReceiver(system, shop)
  const others = await consentedToken(system, market, [outgoingAccess(system, { debitAmount: amount(500) })])
  const ofOthers = await pay(system, market, others.token, receiver.url, 100n)
  expect(ofOthers.status).toBe(201)

  const endMs = system.clock.now() + DAY_MS
  const interval = `R1/${new Date(endMs - 2 * DAY_MS).toISOString()}/${new Date(endMs).toISOString()}`
  const asked = {
    ...outgoingAccess(system, { interval, debitAmount: amount(500) }),
    actions: ['create', 'read', 'read-all', 'list', 'list-all']
  }
  const first = await consentedToken(system, shop, [asked])
  const grantId = first.grant.continueUri.split('/').at(-1) ?? ''
  const rotate = (token: { token: string; manage: string }): Promise<Answer> =>
    shop.request('POST', token.manage, { accessToken: token.token })
  const own = await pay(system, shop, first.token, receiver.url, 100n)
  expect(own.status).toBe(201)
  await allSettled(system)

  system.clock.set(endMs - 1_000)
  const rotated = await rotate(first)
  const [token, manage] = [rotated.textAt('access_token.value'), rotated.textAt('access_token.manage')]
  const list = async (): Promise<unknown> => {
    const wallet = encodeURIComponent(system.walletAddresses.alice)
    const url = `${system.resourceServerUrl}/outgoing-payments?wallet-address=${wallet}`
    const answer = await shop.request('GET', url, { accessToken: token })
    return answer.status === 200
      ? (answer.at('result') as { id: string }[]).map(({ id }) => id)
      : answer.status
  }
  const see = async (payment: Answer): Promise<number> =>
    (await shop.request('GET', payment.textAt('id'), { accessToken: token })).status
  const both = [ofOthers.textAt('id'), own.textAt('id')]
  expect(await list()).toEqual(expect.arrayContaining(both))
  expect([await see(ofOthers), await see(own)]).toEqual([200, 200])

  system.clock.set(endMs)
  expect(await list()).toEqual([own.textAt('id')])
  expect([await see(ofOthers), await see(own)]).toEqual([404, 200])
  expect((await pay(system, shop, token, receiver.url, 1n)).status).toBe(403)
  system.clock.set(endMs + 400 * DAY_MS)
  const last = await rotate({ token, manage })
  expect(last.at('access_token.access.0.actions')).toEqual(['create', 'read', 'list'])

  const acting = {
    holder: { issuer: 'https://login.wallet.example', sub: 'alice-1' },
    walletAddresses: [system.walletAddresses.alice]
  }
  const inForce = {
    ...{ acting, pageSize: 0, pageToken: '' },
    state: auth.AllowedGrantState.ALLOWED_GRANT_STATE_IN_FORCE
  }
  const { grants } = await callUnary(system.holderGrants, 'listAllowedGrants', inForce, { idempotent: true })
  expect(grants.find((each) => each.grantId === grantId)).toMatchObject({
    paymentEndTime: new Date(endMs),
    isStoppable: true
  })
  const lastToken = last.textAt('access_token.value')
  const seeOwn = async (): Promise<number> =>
    (await shop.request('GET', own.textAt('id'), { accessToken: lastToken })).status
  expect(await seeOwn()).toBe(200)
  const held = { grantId, token, receiver: receiver.url }
  await changeGrant(system, 'stopGrant', held)
  expect(await seeOwn()).toBe(403)
  expect(await refusalOf(changeGrant(system, 'pauseGrant', held))).toBe('FAILED_PRECONDITION grant_id')
  expect(await system.audit()).toEqual([])
})
