import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { auth as contract } from '@open-payments-server/proto'
import { createTestKey, recordStatements } from '@open-payments-server/testing'
import {
  ALICE,
  BOUND_KEY,
  eur,
  GrpcFixture,
  type GrantOptions,
  RECEIVER,
  refusalOf,
  SHOP,
  spending,
  usd
} from './support/grpc-fixture.js'
import type { AccessItem } from '../src/domain/access.js'
import { DirectoryBusy, DocumentUnavailable } from '../src/domain/clients.js'

const { TOKEN_STATUS_ACTIVE, TOKEN_STATUS_INACTIVE, TOKEN_STATUS_UNKNOWN } = contract.TokenStatus
let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

const nothing = {
  grantId: '',
  client: undefined,
  key: undefined,
  access: [],
  expireTime: undefined,
  keyUnavailable: false,
  consentedWalletAddress: '',
  clientFrozen: false,
  grantPaused: false
}

describe('Introspect: an active token', () => {
  it('tells the grant, the client, the key, the rights in order, and the expiry', async () => {
    const limits = {
      receiver: RECEIVER,
      interval: 'R12/2026-01-01T00:00:00Z/P1M',
      debitAmount: usd(18_446_744_073_709_551_615n),
      receiveAmount: eur(0n)
    }
    const access: AccessItem[] = [
      { type: 'quote', actions: ['create', 'read'] },
      spending(limits),
      { type: 'incoming-payment', actions: ['read-all'], identifier: ALICE },
      spending({ interval: limits.interval })
    ]
    const expiresAtMs = auth.clock.now() + 600_000
    const { token, grantId } = await auth.grant({ access, expiresAtMs, interaction: 'nobody was asked' })
    expect(await auth.introspect(token)).toEqual({
      status: TOKEN_STATUS_ACTIVE,
      grantId,
      client: { walletAddress: SHOP, jwkThumbprint: '' },
      key: BOUND_KEY,
      access: [
        { type: 'quote', actions: ['create', 'read'], identifier: '', limits: undefined },
        {
          type: 'outgoing-payment',
          actions: ['create', 'read'],
          identifier: ALICE,
          limits: {
            receiver: RECEIVER,
            interval: limits.interval,
            debitAmount: { value: '18446744073709551615', assetCode: 'USD', assetScale: 2 },
            receiveAmount: { value: '0', assetCode: 'EUR', assetScale: 2 }
          }
        },
        { type: 'incoming-payment', actions: ['read-all'], identifier: ALICE, limits: undefined },
        {
          type: 'outgoing-payment',
          actions: ['create', 'read'],
          identifier: ALICE,
          limits: {
            receiver: '',
            interval: limits.interval,
            debitAmount: undefined,
            receiveAmount: undefined
          }
        }
      ],
      expireTime: new Date(expiresAtMs),
      keyUnavailable: false,
      consentedWalletAddress: '',
      clientFrozen: false,
      grantPaused: false
    })
  })

  it('tells the thumbprint of a client that is known by its key alone', async () => {
    const { token } = await auth.grant({ access: [], clientJwkThumbprint: 'thumb-1' })
    const { client, key } = await auth.introspect(token)
    expect({ client, key }).toEqual({
      client: { walletAddress: '', jwkThumbprint: 'thumb-1' },
      key: BOUND_KEY
    })
  })

  it.each<[string, Pick<GrantOptions, 'interaction' | 'askedWalletAddress'>, string]>([
    ['nobody was asked', { interaction: 'nobody was asked' }, ''],
    ['nobody has decided', { interaction: 'PENDING' }, ''],
    ['the account holder declined', { interaction: 'DENIED' }, ''],
    ['the account holder agreed', { interaction: 'APPROVED' }, ALICE],
    [
      'the account holder of another wallet address agreed',
      { interaction: 'APPROVED', askedWalletAddress: 'https://wallet.example/bob' },
      'https://wallet.example/bob'
    ]
  ])(
    'tells whose consent it has, the first time and from memory, when %s',
    async (_what, grant, expected) => {
      const { token } = await auth.grant({ access: [spending()], ...grant })
      for (let asked = 0; asked < 2; asked += 1) {
        expect(await auth.introspect(token)).toMatchObject({ consentedWalletAddress: expected })
      }
    }
  )

  it('is one statement, the first time and every time after', async () => {
    const { token } = await auth.grant({ access: [spending(), spending()] })
    const record = recordStatements(auth.pool)
    for (let count = 1; count <= 3; count += 1) {
      expect((await auth.introspect(token)).status).toBe(TOKEN_STATUS_ACTIVE)
      expect(record.statements).toHaveLength(count)
    }
    record.stop()
  })

  it('shares a statement with those that are asked at the same time, and each is told of its own token', async () => {
    const granted = await Promise.all(Array.from({ length: 12 }, () => auth.grant({ access: [spending()] })))
    for (const { token } of granted) await auth.introspect(token)
    const ended = granted.filter((_one, index) => index % 3 === 0)
    await auth.database.query(
      `update access_token set ended_at = now(), end_reason = 'revoked' where id = any($1)`,
      [ended.map(({ tokenId }) => tokenId)]
    )
    const record = recordStatements(auth.pool)
    const answers = await Promise.all(granted.map(({ token }) => auth.introspect(token)))
    record.stop()
    expect(answers.map(({ status, grantId }) => ({ status, grantId }))).toEqual(
      granted.map((one) =>
        ended.includes(one)
          ? { status: TOKEN_STATUS_INACTIVE, grantId: '' }
          : { status: TOKEN_STATUS_ACTIVE, grantId: one.grantId }
      )
    )
    expect(record.statements.length).toBeLessThan(granted.length)
  })
})

describe('Introspect: the key', () => {
  const { jwk, privateKey } = createTestKey('shop-2')
  const other = { kid: jwk.kid, x: jwk.x, publicKey: createPublicKey(privateKey) }

  it('is the one that asked for the grant when its id, or none, is named', async () => {
    const { token } = await auth.grant({ access: [] })
    expect((await auth.introspect(token, '')).key).toEqual(BOUND_KEY)
    expect((await auth.introspect(token, BOUND_KEY.kid)).key).toEqual(BOUND_KEY)
  })

  it('is absent when the client took out the one that asked for the grant', async () => {
    const clientWalletAddress = 'https://wallet.example/kiosk'
    const { token } = await auth.grant({ access: [], clientWalletAddress })
    expect((await auth.introspect(token, '')).key).toBeUndefined()
    expect((await auth.introspect(token, BOUND_KEY.kid)).key).toBeUndefined()
  })

  it('is the present one when the client put another in its place', async () => {
    const clientWalletAddress = 'https://wallet.example/renewed'
    auth.publishedKeys.set(`${clientWalletAddress} ${BOUND_KEY.kid}`, { ...other, kid: BOUND_KEY.kid })
    const { token } = await auth.grant({ access: [], clientWalletAddress })
    expect((await auth.introspect(token, BOUND_KEY.kid)).key).toEqual({ kid: BOUND_KEY.kid, x: other.x })
  })

  it('is another current key of the same client when that is named', async () => {
    auth.publishedKeys.set(`${SHOP} shop-2`, other)
    const { token } = await auth.grant({ access: [] })
    expect((await auth.introspect(token, 'shop-2')).key).toEqual({ kid: other.kid, x: other.x })
  })

  it('is absent when the client has no current key of that id', async () => {
    auth.publishedKeys.set('https://wallet.example/market shop-3', other)
    const { token } = await auth.grant({ access: [] })
    const answer = await auth.introspect(token, 'shop-3')
    expect([answer.status, answer.key]).toEqual([TOKEN_STATUS_ACTIVE, undefined])
  })

  it.each([new DocumentUnavailable('no answer'), new DirectoryBusy()])(
    'is told to be unknown while the keys of the client cannot be fetched: %s',
    async (error) => {
      auth.publishedKeys.set(`${SHOP} shop-4`, error)
      const { token } = await auth.grant({ access: [] })
      expect(await auth.introspect(token, 'shop-4')).toMatchObject({
        status: TOKEN_STATUS_ACTIVE,
        key: undefined,
        keyUnavailable: true
      })
    }
  )

  it('is absent for a client that is known by another key alone', async () => {
    const { token } = await auth.grant({ access: [], clientJwkThumbprint: 'thumb-1' })
    expect((await auth.introspect(token, 'shop-2')).key).toBeUndefined()
  })

  it('is absent, and not looked for, when the id is too long to be one', async () => {
    const longId = 'k'.repeat(257)
    auth.publishedKeys.set(`${SHOP} ${longId}`, other)
    const { token } = await auth.grant({ access: [] })
    expect((await auth.introspect(token, longId)).key).toBeUndefined()
  })
})

describe('Introspect: a token that is not active', () => {
  it.each(['never-issued', 'ä\u0000 \n', 'x'.repeat(100_000)])(
    'is unknown when it was not issued here',
    async (token) => {
      expect(await auth.introspect(token)).toEqual({ status: TOKEN_STATUS_UNKNOWN, ...nothing })
    }
  )

  it('is inactive from the instant it expires', async () => {
    const expiresAtMs = auth.clock.now() + 1
    const { token } = await auth.grant({ access: [], expiresAtMs })
    expect((await auth.introspect(token)).status).toBe(TOKEN_STATUS_ACTIVE)
    auth.clock.set(expiresAtMs)
    expect(await auth.introspect(token)).toEqual({ status: TOKEN_STATUS_INACTIVE, ...nothing })
  })

  it.each(['rotated', 'revoked'])('is inactive once it was %s, though it was seen active', async (reason) => {
    const { token, tokenId } = await auth.grant({ access: [] })
    expect((await auth.introspect(token)).status).toBe(TOKEN_STATUS_ACTIVE)
    await auth.database.query('update access_token set ended_at = now(), end_reason = $2 where id = $1', [
      tokenId,
      reason
    ])
    expect(await auth.introspect(token)).toEqual({ status: TOKEN_STATUS_INACTIVE, ...nothing })
  })

  it.each(['pending', 'approved', 'rejected', 'revoked'] as const)(
    'is inactive while its grant is %s',
    async (state) => {
      const { token } = await auth.grant({ access: [spending()], state })
      expect(await auth.introspect(token)).toEqual({ status: TOKEN_STATUS_INACTIVE, ...nothing })
    }
  )

  it('is INVALID_ARGUMENT when none is given', async () => {
    const refusal = await auth.introspect('').then(() => undefined, refusalOf)
    expect(refusal).toEqual({ error: 'INVALID_ARGUMENT', field: 'access_token' })
  })
})
