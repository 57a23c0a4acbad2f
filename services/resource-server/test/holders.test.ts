import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { callUnary, createClient, RpcError, status } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { systemRandom } from '@open-payments-server/runtime'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, errors, jwtVerify, type JWTVerifyOptions, type JWTVerifyResult } from 'jose'
import { openHolders } from '../src/compose/holders.js'
import { createResourceUrls } from '../src/domain/resource-urls.js'
import { loadConfig } from '../src/index.js'
import {
  ALICE,
  BOB,
  CAROL,
  PUBLIC_URL,
  type PaymentWorld,
  startPaymentWorld
} from './support/payment-world.js'
import { AUTH_SERVER_URL } from './support/resource-server.js'

const ISSUER = 'https://login.wallet.test'
const ALICES = { issuer: ISSUER, sub: 'alice-7f3a' }
const LIFETIME_SECONDS = 120

/** A key pair: the private JWK as the resource server has it, the public one as the auth server has it. */
function createKey(kid: string): { readonly secret: JsonWebKey; readonly published: JsonWebKey } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    secret: { ...privateKey.export({ format: 'jwk' }), kid },
    published: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA' }
  }
}

const [first, second] = [createKey('first'), createKey('second')]
const CLAIM = { HOLDER_CLAIM: 'accounts', HOLDER_CLAIM_ISSUER: ISSUER }
const settingsOf = (...keys: (typeof first)[]): Record<string, string> => ({
  OWNERSHIP_KEYS: JSON.stringify({ keys: keys.map(({ secret }) => secret) }),
  OWNERSHIP_LIFETIME_SECONDS: String(LIFETIME_SECONDS)
})

let world: PaymentWorld
let holders: wallet.HolderServiceClient

const connect = ({ server }: PaymentWorld): wallet.HolderServiceClient =>
  createClient(wallet.HolderServiceClient, {
    target: `127.0.0.1:${String(server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })

beforeAll(async () => {
  world = await startPaymentWorld({ settings: settingsOf(first, second) })
  holders = connect(world)
})
afterAll(async () => {
  holders.close()
  await world.stop()
})

const setHolder = (accountName: string, holder?: wallet.Holder) =>
  world.operate('setAccountHolder', { accountName, holder })
const state = (walletAddress: string, { issuer, sub } = ALICES, client = holders, claim: string[] = []) =>
  callUnary(
    client,
    'stateOwnership',
    { walletAddress, issuer, sub, holderClaimValues: claim },
    { idempotent: true }
  )
const refusedFor = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => (error instanceof RpcError ? `${status[error.code]} ${String(error.field)}` : error)
  )

describe('the holder of an account', () => {
  const holderOf = async (name: string): Promise<unknown> =>
    (await world.operate('listAccounts', { name, pageSize: 0, pageToken: '' })).accounts[0]?.holder

  it('is nobody until it is set, is replaced, and is nobody again', async () => {
    expect(await holderOf('carol')).toBeUndefined()
    const carols = { issuer: ISSUER, sub: 'carol' }
    for (const holder of [carols, carols, { issuer: ISSUER, sub: 'carla' }, undefined, undefined]) {
      expect((await setHolder('carol', holder)).account).toMatchObject({
        name: 'carol',
        balanceValue: '1000000'
      })
      expect(await holderOf('carol')).toEqual(holder)
    }
  })

  it('may be one of several accounts, and of one alone', async () => {
    await setHolder('alice', ALICES)
    await setHolder('carol', ALICES)
    expect([await holderOf('alice'), await holderOf('bob'), await holderOf('carol')]).toEqual([
      ALICES,
      undefined,
      ALICES
    ])
    await setHolder('carol')
  })

  it.each<[wallet.Holder, string]>([
    [{ issuer: '', sub: 'a' }, 'holder.issuer'],
    [{ issuer: 'login.wallet.test', sub: 'a' }, 'holder.issuer'],
    [{ issuer: 'ftp://login.wallet.test', sub: 'a' }, 'holder.issuer'],
    [{ issuer: `${ISSUER}?a=b`, sub: 'a' }, 'holder.issuer'],
    [{ issuer: `${ISSUER}#a`, sub: 'a' }, 'holder.issuer'],
    [{ issuer: 'https://me@login.wallet.test', sub: 'a' }, 'holder.issuer'],
    [{ issuer: `${ISSUER} `, sub: 'a' }, 'holder.issuer'],
    [{ issuer: `${ISSUER}/\u0000`, sub: 'a' }, 'holder.issuer'],
    [{ issuer: `${ISSUER}/${'a'.repeat(255)}`, sub: 'a' }, 'holder.issuer'],
    [{ issuer: ISSUER, sub: '' }, 'holder.sub'],
    [{ issuer: ISSUER, sub: 'a b' }, 'holder.sub'],
    [{ issuer: ISSUER, sub: 'a\u0000' }, 'holder.sub'],
    [{ issuer: ISSUER, sub: 'ä' }, 'holder.sub'],
    [{ issuer: ISSUER, sub: 'a'.repeat(256) }, 'holder.sub']
  ])('is not %j, and nothing changes', async (holder, field) => {
    expect(await refusedFor(setHolder('alice', holder))).toBe(`INVALID_ARGUMENT ${field}`)
    expect(await holderOf('alice')).toEqual(ALICES)
  })

  it('is of an account that exists', async () => {
    expect(await refusedFor(setHolder('nobody', ALICES))).toBe('NOT_FOUND account_name')
    expect(await refusedFor(setHolder('No Body', ALICES))).toBe('INVALID_ARGUMENT account_name')
  })

  it('is whole, and of a wallet account, says the database itself', async () => {
    for (const change of [
      `update account set holder_issuer = null where name = 'alice'`,
      `update account set holder_issuer = 'i', holder_sub = 's' where kind = 'fees'`
    ])
      await expect(world.database.query(change)).rejects.toThrow('account_holder_whole')
  })
})

/** Verifies a statement as the auth server does. */
function verified(
  statement: string,
  keys: readonly (typeof first)[] = [first],
  options: JWTVerifyOptions = {}
): Promise<JWTVerifyResult> {
  const published = createLocalJWKSet({ keys: keys.map(({ published: jwk }) => ({ ...jwk, kty: 'OKP' })) })
  return jwtVerify(statement, published, {
    algorithms: ['EdDSA'],
    typ: 'ownership+jwt',
    issuer: PUBLIC_URL,
    audience: AUTH_SERVER_URL,
    currentDate: new Date(world.clock.now()),
    ...options
  })
}

describe('that a person holds a wallet address', () => {
  it('is stated to the auth server alone, and for a short time', async () => {
    await setHolder('alice', ALICES)
    const { statement, expireTime } = await state(ALICE)
    const { payload, protectedHeader } = await verified(statement)
    expect(protectedHeader).toEqual({ alg: 'EdDSA', kid: 'first', typ: 'ownership+jwt' })
    const issuedAt = Math.floor(world.clock.now() / 1_000)
    expect(payload).toEqual({
      iss: PUBLIC_URL,
      aud: AUTH_SERVER_URL,
      sub: ALICES.sub,
      holder_issuer: ISSUER,
      wallet_address: ALICE,
      iat: issuedAt,
      exp: issuedAt + LIFETIME_SECONDS,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/)
    })
    expect(expireTime?.getTime()).toBe((issuedAt + LIFETIME_SECONDS) * 1_000)
    const later = new Date(world.clock.now() + LIFETIME_SECONDS * 1_000)
    await expect(verified(statement, [first], { currentDate: later })).rejects.toThrow(errors.JWTExpired)
    await expect(verified(statement, [second])).rejects.toThrow(errors.JWKSNoMatchingKey)
  })

  it('is stated of every wallet address of the account, and each statement is its own', async () => {
    await setHolder('alice', ALICES)
    await world.operate('createWalletAddress', { path: '/alice/shop', publicName: '', accountName: 'alice' })
    const statements = await Promise.all([ALICE, ALICE, `${ALICE}/shop`].map((url) => state(url)))
    const payloads = await Promise.all(
      statements.map(async ({ statement }) => (await verified(statement)).payload)
    )
    expect(payloads.map((payload) => payload.wallet_address)).toEqual([ALICE, ALICE, `${ALICE}/shop`])
    expect(new Set(payloads.map(({ jti }) => jti)).size).toBe(3)
  })

  it.each<[string, string, { issuer: string; sub: string }, string]>([
    ['another person', ALICE, { issuer: ISSUER, sub: 'bob' }, 'FAILED_PRECONDITION sub'],
    [
      'a person of that name elsewhere',
      ALICE,
      { ...ALICES, issuer: 'https://evil.test' },
      'FAILED_PRECONDITION sub'
    ],
    ['a person in other letters', ALICE, { ...ALICES, sub: 'Alice-7f3a' }, 'FAILED_PRECONDITION sub'],
    ['an issuer in another spelling', ALICE, { ...ALICES, issuer: `${ISSUER}/` }, 'FAILED_PRECONDITION sub'],
    ['the wallet address of another', CAROL, ALICES, 'FAILED_PRECONDITION sub'],
    ['one that nobody holds', BOB, ALICES, 'FAILED_PRECONDITION sub'],
    ['one that is not here', `${PUBLIC_URL}/nobody`, ALICES, 'NOT_FOUND wallet_address'],
    ['one that is elsewhere', 'https://other.test/alice', ALICES, 'NOT_FOUND wallet_address'],
    ['no wallet address', `${PUBLIC_URL}/a\u0000`, ALICES, 'NOT_FOUND wallet_address'],
    ['nobody', ALICE, { issuer: ISSUER, sub: '' }, 'INVALID_ARGUMENT sub'],
    ['no issuer', ALICE, { ...ALICES, issuer: '' }, 'INVALID_ARGUMENT issuer']
  ])('is not stated for %s', async (_what, walletAddress, person, refusal) => {
    await setHolder('alice', ALICES)
    await setHolder('carol', { issuer: ISSUER, sub: 'carol' })
    expect(await refusedFor(state(walletAddress, person))).toBe(refusal)
  })

  it('is no longer stated once another holds it', async () => {
    await setHolder('alice', ALICES)
    await state(ALICE)
    await setHolder('alice', { issuer: ISSUER, sub: 'heir' })
    expect(await refusedFor(state(ALICE))).toBe('FAILED_PRECONDITION sub')
    await setHolder('alice')
    expect(await refusedFor(state(ALICE))).toBe('FAILED_PRECONDITION sub')
  })
})

/** Runs with a resource server of other settings. */
async function withSettings(
  settings: Record<string, string>,
  run: (client: wallet.HolderServiceClient, other: PaymentWorld) => Promise<void>
): Promise<void> {
  const other = await startPaymentWorld({ settings })
  const client = connect(other)
  try {
    await run(client, other)
  } finally {
    client.close()
    await other.stop()
  }
}

describe('the keys', () => {
  it('rotate without a gap: the next one is known before it signs, the last one afterwards', async () => {
    await setHolder('alice', ALICES)
    const before = (await state(ALICE)).statement
    await withSettings(settingsOf(second), async (client, other) => {
      await other.operate('setAccountHolder', { accountName: 'alice', holder: ALICES })
      const after = (await state(ALICE, ALICES, client)).statement
      const currentDate = new Date(Math.max(world.clock.now(), other.clock.now()))
      for (const statement of [before, after])
        await expect(verified(statement, [first, second], { currentDate })).resolves.toBeDefined()
    })
  })

  it('are missing where nothing is stated', async () => {
    await withSettings({}, async (client, other) => {
      await other.operate('setAccountHolder', { accountName: 'alice', holder: ALICES })
      expect(await refusedFor(state(ALICE, ALICES, client))).toBe('FAILED_PRECONDITION undefined')
    })
  })

  it('that are none stop the start, and are not repeated', async () => {
    const config = loadConfig({
      PUBLIC_URL,
      AUTH_SERVER_URL,
      AUTH_GRPC_TARGET: 'localhost:1',
      DATABASE_URL: 'postgresql://localhost/wallet',
      SHARED_SECRET_KEY: 'Vb3xQ9rTz1LkW7nM',
      OWNERSHIP_KEYS: JSON.stringify({ keys: [first.published] })
    })
    const parts = { config, clock: world.clock, random: systemRandom }
    const opened = openHolders(parts, { urls: createResourceUrls(PUBLIC_URL) })
    await expect(opened).rejects.toThrow('OWNERSHIP_KEYS: each key must be a private JWK')
    await expect(opened).rejects.not.toThrow(first.published.x ?? '')
  })
})

describe('with a claim that names accounts', () => {
  it('it is stated for whoever has the claim, unless an operator said who it is', async () => {
    await withSettings({ ...settingsOf(first), ...CLAIM }, async (client, other) => {
      const anyone = { issuer: ISSUER, sub: 'whoever' }
      const { statement } = await state(BOB, anyone, client, ['other', 'bob'])
      const currentDate = new Date(other.clock.now())
      expect((await verified(statement, [first], { currentDate })).payload).toMatchObject({
        sub: 'whoever',
        wallet_address: BOB,
        holder_claim: { name: 'accounts', value: 'bob' }
      })
      const elsewhere = { issuer: 'https://evil.test', sub: 'whoever' }
      expect(await refusedFor(state(BOB, elsewhere, client, ['bob']))).toBe('FAILED_PRECONDITION sub')
      for (const claim of [[], ['Bob', 'alice']])
        expect(await refusedFor(state(BOB, anyone, client, claim))).toBe('FAILED_PRECONDITION sub')
      await other.operate('setAccountHolder', { accountName: 'bob', holder: { issuer: ISSUER, sub: 'bob' } })
      expect(await refusedFor(state(BOB, anyone, client, ['bob']))).toBe('FAILED_PRECONDITION sub')
      const bobs = (await state(BOB, { issuer: ISSUER, sub: 'bob' }, client)).statement
      expect((await verified(bobs, [first], { currentDate })).payload).not.toHaveProperty('holder_claim')
    })
  })
})
