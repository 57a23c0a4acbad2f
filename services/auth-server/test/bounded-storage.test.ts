import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { createTestKey, sizeOnDisk } from '@open-payments-server/testing'
import { afterEach, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import { issueGrant, outgoingPaymentRequest } from './grants.js'
import { GrpcFixture, spending, usd } from './support/grpc-fixture.js'

let auth: TestAuthServer | undefined

afterEach(async () => {
  await auth?.stop()
  auth = undefined
})

describe('marks of nonces', () => {
  it('are left by no request beyond the limit of its client', async () => {
    const marks: string[] = []
    const store = createInProcessStore()
    const sharedStore = {
      ...store,
      markOnce: (key: string) => {
        marks.push(key)
        return Promise.resolve(true)
      }
    }
    auth = await startTestAuthServer(
      { RATE_LIMITS: 'true', RATE_LIMIT_CLIENT_REQUESTS: '2' },
      { sharedStore }
    )
    const shop = auth.createClient('shop')
    const token = await issueGrant(shop)
    const signed = () => ({ signature: { nonce: randomBytes(128).toString('hex') } })
    const ask = (): Promise<number> =>
      shop
        .request('POST', PUBLIC_URL, { body: quoteGrant(shop.walletAddress), ...signed() })
        .then(({ status }) => status)
    const revoke = (): Promise<number> =>
      shop
        .request('DELETE', token.textAt('access_token.manage'), {
          accessToken: token.textAt('access_token.value'),
          ...signed()
        })
        .then(({ status }) => status)

    // The first request had no nonce.
    expect([await ask(), await ask(), await ask()]).toEqual([200, 429, 429])
    expect(marks).toHaveLength(1)
    expect([await revoke(), await revoke(), await revoke(), await revoke()]).toEqual([204, 204, 429, 429])
    expect(marks).toHaveLength(3)
    // The same length for any nonce.
    for (const mark of marks) expect(mark).toMatch(/^nonce:[\w-]{43}$/)
    await store.close()
  })
})

function quoteGrant(client: unknown): Record<string, unknown> {
  return { client, access_token: { access: [{ type: 'quote', actions: ['create'] }] } }
}

describe('an identifier', () => {
  it('has at most 256 characters unless it is hosted here: what is refused is named, and not stored', async () => {
    auth = await startTestAuthServer(({ origin }) => ({ WALLET_ADDRESS_ORIGINS: origin }))
    const { wallet, database } = auth
    const shop = auth.createClient('shop')
    const elsewhere = (length: number): string => 'https://elsewhere.example/'.padEnd(length, 'a')
    const longName = 'a'.repeat(300)
    const hosted = wallet.setWalletAddress(longName, { authServer: PUBLIC_URL })
    const receiver = wallet.setDocument(`/incoming-payments/${longName}`, {
      receivedAmount: { value: '0', assetCode: 'USD', assetScale: 2 }
    })
    const ask = async (changed: object): Promise<{ status: number; fields: string[] }> => {
      const body = { ...outgoingPaymentRequest(shop.walletAddress, hosted), ...changed }
      const answer = await shop.request('POST', PUBLIC_URL, { body })
      return { status: answer.status, fields: Object.keys(answer.at('error.details') ?? {}) }
    }
    const access = (item: object) => ({ access_token: { access: [item] } })
    const incoming = (identifier: string) =>
      access({ type: 'incoming-payment', actions: ['create'], identifier })
    const paying = (to: string) =>
      access({ type: 'outgoing-payment', actions: ['create'], identifier: hosted, limits: { receiver: to } })
    const fits = { status: 200, fields: [] }
    const refused = (field: string) => ({ status: 400, fields: [field] })

    expect(await ask({})).toEqual(fits)
    expect(await ask(incoming(elsewhere(256)))).toEqual(fits)
    expect(await ask(incoming(elsewhere(257)))).toEqual(refused('access_token.access[0].identifier'))
    expect(await ask(incoming(hosted))).toEqual(fits)
    // Made up, below our own origin.
    expect(await ask(incoming(`${hosted}b`))).toEqual(refused('access_token.access[0].identifier'))
    expect(await ask(paying(receiver))).toEqual(fits)
    expect(await ask(paying(`${receiver}b`))).toEqual(refused('access_token.access[0].limits.receiver'))
    expect(await ask({ subject: { sub_ids: [{ id: elsewhere(257), format: 'uri' }] } })).toEqual(
      refused('subject.sub_ids[0].id')
    )
    const [stored] = await database.query<{ count: number }>(
      'select count(*)::integer as count from grant_request'
    )
    expect(stored?.count).toBe(4)
  })
})

describe('the rows of a day', () => {
  it('are limited for all keys of an address together: grants and rotations, and nothing else', async () => {
    auth = await startTestAuthServer({ RATE_LIMITS: 'true', RATE_LIMIT_ADDRESS_ROWS: '3' })
    const shop = auth.createClient('shop')
    const first = await issueGrant(shop)
    const manage = first.textAt('access_token.manage')
    const accessToken = first.textAt('access_token.value')
    const rotated = await shop.request('POST', manage, { accessToken })
    expect(rotated.status).toBe(200)
    const grantOfStranger = (name: string) => {
      const key = createTestKey(name)
      return strangers.signWith(key).request('POST', PUBLIC_URL, { body: quoteGrant({ jwk: key.jwk }) })
    }
    const strangers = auth
    expect((await grantOfStranger('stranger-1')).status).toBe(200)
    const refused = await grantOfStranger('stranger-2')
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'too_many_attempts' } } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(86_000)
    // Requests that leave no row are still accepted.
    const ended = await shop.request('DELETE', rotated.textAt('access_token.manage'), {
      accessToken: rotated.textAt('access_token.value')
    })
    expect(ended.status).toBe(204)
    const continued = await shop.request('POST', first.textAt('continue.uri'), {
      accessToken: first.textAt('continue.access_token.value')
    })
    expect(continued.status).toBe(401)
    auth.clock.advanceSeconds(86_400)
    expect((await grantOfStranger('stranger-3')).status).toBe(200)
  })

  it('are limited for a client, too', async () => {
    auth = await startTestAuthServer({ RATE_LIMITS: 'true', RATE_LIMIT_CLIENT_ROWS: '1' })
    const [shop, market] = [auth.createClient('shop'), auth.createClient('market')]
    const ask = async (client: TestClient): Promise<number> =>
      (await client.request('POST', PUBLIC_URL, { body: quoteGrant(client.walletAddress) })).status
    expect([await ask(shop), await ask(shop), await ask(market)]).toEqual([200, 429, 200])
  })

  it('are counted by the route that takes a request, whatever its query says', async () => {
    auth = await startTestAuthServer({ RATE_LIMITS: 'true', RATE_LIMIT_ADDRESS_ROWS: '2' })
    const shop = auth.createClient('shop')
    const token = await issueGrant(shop)
    const rotate = (manage: string, accessToken: string) =>
      shop.request('POST', `${manage}?x=/continue/a`, { accessToken })
    const ask = () =>
      shop.request('POST', `${PUBLIC_URL}?x=/continue/a`, { body: quoteGrant(shop.walletAddress) })
    const rotated = await rotate(token.textAt('access_token.manage'), token.textAt('access_token.value'))
    const again = await rotate(rotated.textAt('access_token.manage'), rotated.textAt('access_token.value'))
    expect([rotated.status, again.status, (await ask()).status]).toEqual([200, 429, 429])
    const continued = await shop.request('POST', `${token.textAt('continue.uri')}?x=y`, {
      accessToken: token.textAt('continue.access_token.value')
    })
    expect(continued.status).toBe(401)
  })
})

describe('the largest grant that a stranger can have stored', () => {
  /** So many that the maps of free space, which the first vacuum of each table adds, count for little. */
  const GRANTS = 300
  /** Text that does not compress, in characters of three bytes: the most that one UTF-16 unit can take. */
  const wide = (length: number): string =>
    Array.from(randomBytes(length), (byte) => String.fromCharCode(0x4e00 + byte * 64)).join('')
  const narrow = (prefix: string, length: number): string =>
    prefix +
    randomBytes(length)
      .toString('hex')
      .slice(0, length - prefix.length)

  it('takes no more of the disk than the documentation says', async () => {
    auth = await startTestAuthServer()
    const { database, wallet } = auth
    const key = createTestKey(narrow('', 256))
    const client = wallet.setWalletAddress(narrow('', 256 - `${wallet.origin}/`.length), {
      publicName: wide(256),
      authServer: PUBLIC_URL,
      keys: [key.jwk]
    })
    const assetCode = narrow('', 32)
    const amount = () => ({
      value: '18446744073709551615',
      assetCode,
      assetScale: 255
    })
    const before = await sizeOf(database)
    const holder = (at: number): string =>
      wallet.setWalletAddress(narrow(`h${String(at)}`, 256 - `${wallet.origin}/`.length), {
        assetCode,
        assetScale: 255,
        authServer: PUBLIC_URL
      })
    const stranger = auth.signWith(key)
    const interval = (): string => `R${'0'.repeat(80)}9/2026-01-01T00:00:00Z/P1M`
    for (let at = 0; at < GRANTS; at += 1) {
      const identifier = holder(at)
      const item = () => ({
        type: 'outgoing-payment',
        actions: ['create', 'read', 'read-all', 'list', 'list-all'],
        identifier,
        limits: {
          receiver: narrow(`${wallet.origin}/incoming-payments/`, 256),
          interval: interval(),
          debitAmount: amount(),
          receiveAmount: amount()
        }
      })
      const answer = await stranger.request('POST', PUBLIC_URL, {
        body: {
          client,
          access_token: { access: [item(), item(), item()] },
          subject: { sub_ids: [{ id: identifier, format: 'uri' }] },
          interact: {
            start: ['redirect'],
            finish: {
              method: 'redirect',
              uri: narrow('https://shop.test/', 2_048),
              nonce: wide(256),
              hash_method: 'sha-256'
            }
          }
        }
      })
      expect(answer).toMatchObject({ status: 200 })
    }
    await expectDocumented('Pending grant', Math.ceil(((await sizeOf(database)) - before) / GRANTS))
  }, 300_000)
})

describe('the record of a payment', () => {
  /** Many small rows, so that a few pages that were free before do not matter. */
  const PAYMENTS = 1_000
  const LARGEST = 18_446_744_073_709_551_615n

  /** Leaves many of one kind. */
  const measure = async (
    what: string,
    limits: { readonly debitAmount?: ReturnType<typeof usd> },
    leave: (fixture: GrpcFixture, token: string) => Promise<void>
  ): Promise<void> => {
    const fixture = await GrpcFixture.start()
    try {
      const { token } = await fixture.grant({ access: [spending(limits)] })
      await leave(fixture, token)
      const before = await sizeOf(fixture.database)
      for (let at = 0; at < PAYMENTS; at += 1) await leave(fixture, token)
      await expectDocumented(what, Math.ceil(((await sizeOf(fixture.database)) - before) / PAYMENTS))
    } finally {
      await fixture.stop()
    }
  }

  it('that was refused takes no more of the disk than the documentation says', async () => {
    await measure('Refused payment', { debitAmount: usd(0n) }, async (fixture, token) => {
      expect(await fixture.reserve(token)).toEqual({ refused: 'LIMIT_EXCEEDED' })
    })
  }, 300_000)

  it('that was given up after it was reserved takes no more of the disk than the documentation says', async () => {
    await measure('Given-up id at the auth server', {}, async (fixture, token) => {
      const payment = fixture.payment(token, { debit: usd(LARGEST), receive: usd(LARGEST) })
      expect(await fixture.reserveAs(payment)).toHaveProperty('reserved')
      expect(await fixture.release(payment.paymentId)).toBe('OK')
    })
  }, 300_000)
})

/** Size of all tables but those of events, which are kept for another time, on disk, in bytes. */
function sizeOf(database: TestAuthServer['database']): Promise<number> {
  return sizeOnDisk(database.query, `relname not in ('event', 'event_outbox')`)
}

/** The size is at most what `docs/limits.md` says. It is not much less either: otherwise the test missed the largest rows. */
async function expectDocumented(what: string, bytes: number): Promise<void> {
  const limits = await readFile(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
  const documented = Number(
    new RegExp(`\\| ${what} +\\| ([\\d,]+) bytes`).exec(limits)?.[1]?.replaceAll(',', '')
  )
  expect(documented).toBeGreaterThan(0)
  expect(bytes).toBeLessThanOrEqual(documented)
  expect(bytes).toBeGreaterThan(documented / 4)
}
