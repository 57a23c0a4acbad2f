import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { recordStatements, type StatementRecord } from '@open-payments-server/testing'
import { consentedToken, outgoingAccess, requestToken } from '../src/consent.js'
import { allSettled, createReceiver, pay } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

/** What a request cost: the statements each service sent to its database, in order. */
interface Cost {
  readonly auth: readonly string[]
  readonly resource: readonly string[]
}

describe('the round trips of a request, in steady state', () => {
  let system: System
  let records: readonly [StatementRecord, StatementRecord]
  let receiver: { url: string; token: string }
  let payToken: string

  beforeAll(async () => {
    system = await startSystem()
    receiver = await createReceiver(system, system.shop)
    payToken = (await consentedToken(system, system.shop, [outgoingAccess(system)])).token
    // From here on everything is cached: keys, tokens, wallet addresses, the receiver.
    await pay(system, system.shop, payToken, receiver.url, 100n)
    await requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])
    await allSettled(system)
    const [authServer] = system.runningAuthServers
    const [resourceServer] = system.runningResourceServers
    if (authServer === undefined || resourceServer === undefined) throw new Error('nothing runs')
    records = [recordStatements(authServer.pool), recordStatements(resourceServer.pool)]
  })
  afterAll(async () => {
    for (const record of records) record.stop()
    await system.stop()
  })

  const costOf = async (work: () => Promise<unknown>): Promise<Cost> => {
    const [auth, resource] = records
    const before = [auth.statements.length, resource.statements.length] as const
    await work()
    const since = ({ statements }: StatementRecord, from: number): string[] =>
      statements.slice(from).map((text) =>
        text
          .replace(/^\/\* [a-z0-9-]+ \*\//, '')
          .replace(/\s+/g, ' ')
          .trim()
      )
    return { auth: since(auth, before[0]), resource: since(resource, before[1]) }
  }

  it('reading a payment: one statement', async () => {
    const paid = await pay(system, system.shop, payToken, receiver.url, 100n)
    await allSettled(system)
    for (const [url, accessToken] of [
      [paid.textAt('id'), payToken],
      [receiver.url, receiver.token]
    ] as const) {
      await system.shop.request('GET', url, { accessToken })
      const cost = await costOf(() => system.shop.request('GET', url, { accessToken }))
      expect(cost).toEqual({ auth: [], resource: [expect.stringMatching(/^select /)] })
    }
  })

  it('creating an incoming payment: one statement', async () => {
    const cost = await costOf(() =>
      system.shop.request('POST', `${system.resourceServerUrl}/incoming-payments`, {
        accessToken: receiver.token,
        body: { walletAddress: system.walletAddresses.bob }
      })
    )
    expect(cost).toEqual({
      auth: [],
      resource: [expect.stringContaining('insert into incoming_payment')]
    })
  })

  it('creating an outgoing payment directly: one Reserve of one statement, and one statement that persists', async () => {
    const cost = await costOf(() => pay(system, system.shop, payToken, receiver.url, 100n))
    const reserved = cost.auth.filter((text) => !text.includes('update reservation')) // as what ends them does
    expect(reserved).toEqual([expect.stringContaining('insert into reservation')])
    expect(cost.resource).toEqual([expect.stringContaining('insert into outgoing_payment')])
    await allSettled(system)
  })

  it('a grant without interaction: one statement', async () => {
    const cost = await costOf(() =>
      requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])
    )
    expect(cost.auth).toEqual([expect.stringContaining('insert into grant_request')])
    expect(cost.resource).toEqual([])
  })

  it('introspection: one statement', async () => {
    const cost = await costOf(() =>
      callUnary(
        system.introspection,
        'introspect',
        { accessToken: payToken, keyId: system.shop.key.keyId },
        { idempotent: true }
      )
    )
    expect(cost).toEqual({ auth: [expect.stringMatching(/^select /)], resource: [] })
  })
})
