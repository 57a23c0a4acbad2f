import { callUnary } from '@open-payments-server/grpc-transport'
import { type Answer, send } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { consentedToken, outgoingAccess, requestInteractiveGrant, requestToken } from '../src/consent.js'
import { allSettled, createReceiver, eventually, pay } from '../src/payments.js'
import { spentUnder } from '../src/races.js'
import { startSystem, type System } from '../src/system.js'

/** Several of each service need Redis; what is told below is the same for one. */
const instanceCount = process.env.TEST_REDIS_URL === undefined ? 1 : 2

describe(`a client that is frozen, with ${String(instanceCount)} of each service`, () => {
  let system: System
  beforeAll(async () => {
    system = await startSystem({ instanceCount })
  })
  afterAll(async () => {
    await allSettled(system)
    expect(await system.audit()).toEqual([])
    await system.stop()
  })

  const freeze = (freezes: boolean, client = system.shop.walletAddress) =>
    callUnary(
      system.grantOperator,
      freezes ? 'freezeClient' : 'unfreezeClient',
      { client, reason: 'stolen key' },
      { idempotent: true }
    )
  const reasonOf = (answer: Answer): unknown => [answer.status, answer.at('error.details.reason')]
  const FROZEN = [403, 'client_frozen']
  const pending = async (): Promise<number> => {
    const [row] = await system.resourceDatabase.query<{ count: number }>(
      `select count(*)::int as count from outgoing_payment where state = 'pending'`
    )
    return row?.count ?? NaN
  }

  it('pays nothing from the moment on at which that is answered, and goes on afterwards', async () => {
    const receiver = await createReceiver(system, system.market)
    const { token, manage } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    const pays = (): Promise<Answer> => pay(system, system.shop, token, receiver.url, 10n)
    // Each instance has cached the answer about the token.
    for (let payment = 0; payment < 4; payment += 1) expect((await pays()).status).toBe(201)
    await allSettled(system)
    const spent = await spentUnder(system, token)

    await freeze(true)
    for (const refused of await Promise.all([pays(), pays(), pays(), pays()]))
      expect(reasonOf(refused)).toEqual(FROZEN)
    expect(reasonOf(await system.shop.request('POST', manage, { accessToken: token }))).toEqual(FROZEN)
    await expect(requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])).rejects.toThrow(
      /client_frozen/
    )
    expect(await spentUnder(system, token)).toBe(spent)
    const listed = await system.shop.request(
      'GET',
      `${system.resourceServerUrl}/outgoing-payments?wallet-address=${encodeURIComponent(system.walletAddresses.alice)}`,
      { accessToken: token }
    )
    expect(listed.status).toBe(200)
    // Others are not affected.
    const other = await consentedToken(system, system.market, [outgoingAccess(system)])
    expect((await pay(system, system.market, other.token, receiver.url, 1n)).status).toBe(201)

    await freeze(false)
    for (const paid of await Promise.all([pays(), pays()])) expect(paid.status).toBe(201)
    await allSettled(system)
    expect(await spentUnder(system, token)).toBe(spent + 20n)
  })

  it('races its payments: each is paid once or not at all, and what is pending is held', async () => {
    const receiver = await createReceiver(system, system.market)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    let made = 0
    for (let round = 0; round < 6; round += 1) {
      const paying = Array.from({ length: 8 }, () => pay(system, system.shop, token, receiver.url, 1n))
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
      await freeze(true)
      const answers = await Promise.all(paying)
      expect(answers.filter(({ status }) => status !== 201 && status !== 403)).toEqual([])
      made += answers.filter(({ status }) => status === 201).length
      // Whoever asks now is refused by whichever instance, and makes no reservation.
      expect(reasonOf(await pay(system, system.shop, token, receiver.url, 1n))).toEqual(FROZEN)
      await freeze(false)
    }
    await eventually('held payments go on', async () => (await pending()) === 0)
    await allSettled(system)
    expect(await spentUnder(system, token)).toBe(BigInt(made))
  })

  it('is the same client under whatever host its wallet address is reached, whether or not anybody is asked', async () => {
    const { hostname } = new URL(system.shop.walletAddress)
    const alias = hostname === 'localhost' ? '127.0.0.1' : 'localhost'
    const walletAddress = system.shop.walletAddress.replace(hostname, alias)
    const asAlias = { ...system.shop, walletAddress }
    const quotes = [{ type: 'quote', actions: ['create'] }]
    // It is reached there, and says who it is.
    expect((await send('GET', walletAddress)).at('id')).toBe(system.shop.walletAddress)
    await requestToken(system, system.shop, quotes)
    await freeze(true)
    await expect(requestToken(system, system.shop, quotes)).rejects.toThrow(/client_frozen/)
    const spelled = `the client's wallet address is spelled ${system.shop.walletAddress}`
    await expect(requestToken(system, asAlias, quotes)).rejects.toThrow(spelled)
    await expect(requestInteractiveGrant(system, asAlias, [outgoingAccess(system)])).rejects.toThrow(spelled)
    await freeze(false)
    await expect(requestToken(system, asAlias, quotes)).rejects.toThrow(spelled)
  })

  it('is known to every resource server, in the database that they share', async () => {
    await freeze(true)
    const known = async (count: number): Promise<void> =>
      eventually('the resource server knows it', async () => {
        const rows = await system.resourceDatabase.query('select client from frozen_client')
        return rows.length === count
      })
    await known(1)
    await freeze(false)
    await known(0)
  })
})
