import { createHash, randomUUID } from 'node:crypto'
import { callUnary, createClient, RpcError, status } from '@open-payments-server/grpc-transport'
import { auth as contract } from '@open-payments-server/proto'
import {
  type Answer,
  createIssuerKey,
  type IssuerKey,
  signJwt,
  startTestIssuer,
  type TestIssuer
} from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import canonicalize from 'canonicalize'
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import {
  continueGrant,
  createAccountHolder,
  decide,
  finishUrl,
  type PendingGrant,
  requestGrant,
  startInBrowser
} from './grants.js'

const PAGE = 'consent-page'
const ALICE_SUB = 'alice-7f3a'
const WORDS = { language: 'en', words: ['Let The shop take up to 25.00 USD a month', 'From alice'] }
const usd = (value: number) => ({ value: String(value), assetCode: 'USD', assetScale: 2 })

type Json = Record<string, unknown>

let issuer: TestIssuer
let other: TestIssuer
let ownershipKey: IssuerKey
let auth: TestAuthServer
let shop: TestClient
let operator: contract.GrantOperatorServiceClient
const clock = { now: () => auth.clock.now() }

const connect = ({ server }: TestAuthServer): contract.GrantOperatorServiceClient =>
  createClient(contract.GrantOperatorServiceClient, {
    target: `127.0.0.1:${String(server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })

/** What it takes to prove consent. */
const proving = (): Record<string, string> => ({
  CONSENT_ISSUERS: `${PAGE}@${issuer.issuer}, other-page@${issuer.issuer}, ${PAGE}@${other.issuer}`,
  OWNERSHIP_PUBLIC_KEYS: JSON.stringify({ keys: [ownershipKey.jwk] })
})
const settings = (): Record<string, string> => ({ ...proving(), CONSENT_PROOF: 'required' })

beforeAll(async () => {
  issuer = await startTestIssuer(clock, PAGE)
  other = await startTestIssuer(clock, PAGE)
  ownershipKey = createIssuerKey('EdDSA')
  auth = await startTestAuthServer(settings())
  shop = auth.createClient('shop')
  operator = connect(auth)
})
afterAll(async () => {
  operator.close()
  await auth.stop()
  await issuer.stop()
  await other.stop()
})

const access = (
  limits: Json = { debitAmount: usd(2500), interval: 'R/2026-01-01T00:00:00Z/P1M' }
): Json[] => [
  { type: 'outgoing-payment', actions: ['create', 'read'], identifier: createAccountHolder(auth), limits },
  { type: 'quote', actions: ['create', 'read'] }
]

/** A grant of alice's that waits for her consent. */
function ask(asked: Json[] = access()): Promise<PendingGrant> {
  return requestGrant(shop, {
    client: shop.walletAddress,
    access_token: { access: asked },
    interact: {
      start: ['redirect'],
      finish: { method: 'redirect', uri: 'https://shop.test/back', nonce: randomUUID() }
    }
  })
}

async function documentOf(grant: PendingGrant): Promise<Json> {
  const answer = await auth.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
  return { ...(answer.at('document') as Json), ...WORDS }
}

const nonceOf = (document: Json): string =>
  createHash('sha256')
    .update(canonicalize(document) ?? '')
    .digest('base64url')

/** A statement of the resource server; further claims take precedence. */
function ownership(claims: JWTPayload = {}, key = ownershipKey, header: object = {}): Promise<string> {
  const now = Math.floor(auth.clock.now() / 1_000)
  const usual = {
    iss: auth.wallet.origin,
    aud: PUBLIC_URL,
    sub: ALICE_SUB,
    holder_issuer: issuer.issuer,
    wallet_address: createAccountHolder(auth),
    iat: now,
    exp: now + 300,
    jti: randomUUID()
  }
  return signJwt({ ...usual, ...claims }, key, { typ: 'ownership+jwt', ...header })
}

interface Acceptance {
  readonly idToken: string
  readonly ownership: string
  readonly document: Json
  readonly access?: unknown
}

/** An acceptance of alice's that is right; claims of her ID token take precedence. */
async function acceptance(
  grant: PendingGrant,
  claims: JWTPayload = {},
  change: Json = {}
): Promise<Acceptance> {
  const document = { ...(await documentOf(grant)), ...change }
  return {
    idToken: await issuer.idToken({ sub: ALICE_SUB, nonce: nonceOf(document), ...claims }),
    ownership: await ownership(),
    document
  }
}

const accept = (grant: PendingGrant, body: unknown): Promise<Answer> => decide(auth, grant, 'accept', body)
const refusal = (field: string, code = 'invalid_request') => ({
  status: 400,
  body: { error: { code, details: { [field]: expect.any(String) } } }
})

/** The interaction is undecided, the access as it was asked, and nothing is recorded. */
async function expectUnchanged(grant: PendingGrant, asked: readonly Json[]): Promise<void> {
  const answer = await auth.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
  expect(answer.body).toMatchObject({ state: 'PENDING', access: [asked[0], { type: 'quote' }] })
  const [row] = await auth.database.query<{ count: number }>(
    `select count(*)::int as count from consent_record where grant_id = (select grant_id from interaction where id = $1)`,
    [grant.interactionId]
  )
  expect(row?.count).toBe(0)
}

/** Accepts, and lets the client get its token. */
async function issued(grant: PendingGrant, body: unknown): Promise<Answer> {
  const cookie = await startInBrowser(auth, grant)
  expect(await accept(grant, body)).toMatchObject({ status: 202 })
  const finished = await auth.send('GET', finishUrl(grant), { cookie })
  const reference = new URL(finished.headers.get('location') ?? '').searchParams.get('interact_ref') ?? ''
  auth.clock.advanceSeconds(5)
  return continueGrant(shop, grant, reference)
}

const recordOf = async (grant: PendingGrant) => {
  const grantId = grant.continueUri.split('/').at(-1) ?? ''
  return (await callUnary(operator, 'getConsentRecord', { grantId }, { idempotent: true })).consentRecord
}

describe('consent that is proved', () => {
  it('is accepted, and what was proved is kept with the grant', async () => {
    const grant = await ask()
    const authTime = Math.floor(auth.clock.now() / 1_000) - 30
    const body = await acceptance(grant, { acr: 'urn:loa:2', amr: ['pwd', 'otp'], auth_time: authTime })
    const at = auth.clock.now()
    expect((await issued(grant, body)).at('access_token.access')).toEqual(body.document.access)
    const document = canonicalize(body.document) ?? ''
    expect(await recordOf(grant)).toEqual({
      grantId: grant.continueUri.split('/').at(-1),
      document,
      documentHash: createHash('sha256').update(document).digest(),
      issuer: issuer.issuer,
      sub: ALICE_SUB,
      acr: 'urn:loa:2',
      amr: ['pwd', 'otp'],
      authTime: new Date(authTime * 1_000),
      idToken: body.idToken,
      ownership: body.ownership,
      createTime: new Date(at)
    })
  })

  it('may be in any words, and of a claim that makes a statement true', async () => {
    const grant = await ask()
    const words = { language: 'de-AT', words: ['„Der Shop“ <b>darf</b> 25,00 $ nehmen 🙂', 'e\u0301'] }
    const body = await acceptance(grant, { accounts: ['savings', 'alice'] }, words)
    const claimed = await ownership({ holder_claim: { name: 'accounts', value: 'alice' } })
    expect(await accept(grant, { ...body, ownership: claimed })).toMatchObject({ status: 202 })
    expect(JSON.parse((await recordOf(grant))?.document ?? '')).toMatchObject(words)
  })

  it('needs no record where there is none: NOT_FOUND', async () => {
    const grant = await ask()
    const found = await recordOf(grant).catch((error: unknown) => error)
    expect(found).toBeInstanceOf(RpcError)
    expect(found).toMatchObject({ code: status.NOT_FOUND, field: 'grant_id' })
  })

  it('is recorded for good: the database changes and deletes no record without its grant', async () => {
    const grant = await ask()
    await accept(grant, await acceptance(grant))
    for (const change of [
      `update consent_record set sub = 'mallory'`,
      `update consent_record set id_token = ''`,
      'delete from consent_record'
    ])
      await expect(auth.database.query(change)).rejects.toThrow('never changes')
    await expect(
      auth.database.query(
        `insert into consent_record select i.grant_id, 'another', r.document_hash, r.issuer, r.sub, r.acr, r.amr, r.auth_time,
                r.id_token, r.ownership, r.created_at from consent_record r, interaction i where i.state = 'PENDING' limit 1`
      )
    ).rejects.toThrow('consent_record_hash_is_of_document')
    const id = grant.continueUri.split('/').at(-1)
    await auth.database.query('delete from grant_request where id = $1', [id])
    await expect(recordOf(grant)).rejects.toMatchObject({ code: status.NOT_FOUND })
  })
})

describe('less than was asked', () => {
  it('is granted, told to the client, and in the record', async () => {
    const grant = await ask()
    const document = await documentOf(grant)
    const [paying] = document.access as [Json]
    const limits = { debitAmount: usd(1000), interval: 'R3/2026-01-01T00:00:00Z/P1M' }
    const granted = [{ ...paying, actions: ['create'], limits }]
    const body = { ...(await acceptance(grant, {}, { access: granted })), access: granted }
    const answer = await issued(grant, body)
    expect(answer.status).toBe(200)
    expect(answer.at('access_token.access')).toEqual(granted)
    expect(JSON.parse((await recordOf(grant))?.document ?? '')).toMatchObject({
      access: granted,
      payees: null
    })
    const rows = await auth.database.query<{ count: number }>(
      'select count(*)::int as count from access_item where grant_id = $1',
      [grant.continueUri.split('/').at(-1)]
    )
    expect(rows).toEqual([{ count: 1 }])
  })

  it('ends with the last day that its document has, and with no other', async () => {
    const grant = await ask()
    const endsAt = new Date(auth.clock.now() + 3_600_000).toISOString()
    const body = await acceptance(grant, {}, { endsAt })
    const later = new Date(auth.clock.now() + 7_200_000).toISOString()
    expect(await accept(grant, { ...body, endsAt: later })).toMatchObject(refusal('document.endsAt'))
    expect(await accept(grant, body)).toMatchObject(refusal('document.endsAt'))
    const silent = await acceptance(grant)
    expect(await accept(grant, { ...silent, endsAt })).toMatchObject(refusal('document.endsAt'))
    expect((await issued(grant, { ...body, endsAt })).status).toBe(200)
    const grantId = grant.continueUri.split('/').at(-1)
    expect(JSON.parse((await recordOf(grant))?.document ?? '')).toMatchObject({ endsAt })
    expect(await auth.database.query('select ends_at from grant_request where id = $1', [grantId])).toEqual([
      { ends_at: new Date(endsAt) }
    ])
  })

  it.each<[string, (asked: Json) => unknown, string]>([
    [
      'a higher amount',
      (item) => [{ ...item, limits: { ...(item.limits as Json), debitAmount: usd(2501) } }],
      'access[0].limits.debitAmount'
    ],
    [
      'no amount',
      (item) => [{ ...item, limits: { interval: (item.limits as Json).interval } }],
      'access[0].limits.debitAmount'
    ],
    [
      'a shorter period',
      (item) => [{ ...item, limits: { ...(item.limits as Json), interval: 'R/2026-01-01T00:00:00Z/P1D' } }],
      'access[0].limits.interval'
    ],
    [
      'the wallet of another',
      (item) => [{ ...item, identifier: 'https://wallet.example/bob' }],
      'access[0].identifier'
    ],
    ['another action', (item) => [{ ...item, actions: ['create', 'read', 'list-all'] }], 'access[0].actions'],
    ['the same twice', (item) => [item, { ...item, actions: ['create'] }], 'access[1]'],
    ['nothing', () => [], 'access'],
    ['what is no access', () => [{ type: 'everything' }], 'access[0].type']
  ])('is not %s, however it is proved', async (_what, change, field) => {
    const asked = access()
    const grant = await ask(asked)
    const [paying = {}] = (await documentOf(grant)).access as Json[]
    const granted = change(paying)
    const body = { ...(await acceptance(grant, {}, { access: granted })), access: granted }
    const answer = await accept(grant, body)
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
    expect(Object.keys(answer.at('error.details') as Json)).toContain(field)
    await expectUnchanged(grant, asked)
  })
})

describe('a page that was taken over can grant nothing:', () => {
  const asked = () => access()

  /** Refused, naming the field, and nothing changed. Then alice can still consent. */
  async function expectRefused(
    field: string,
    forge: (body: Acceptance, grant: PendingGrant) => unknown
  ): Promise<void> {
    const wanted = asked()
    const grant = await ask(wanted)
    const body = await acceptance(grant)
    expect(await accept(grant, await forge(body, grant))).toMatchObject(refusal(field))
    await expectUnchanged(grant, wanted)
    expect(await accept(grant, body)).toMatchObject({ status: 202 })
  }

  it.each(['idToken', 'ownership', 'document'])('without %s', async (missing) => {
    await expectRefused(missing, (body) => ({ ...body, [missing]: undefined }))
  })

  it('without any proof, or any body', async () => {
    await expectRefused('idToken', () => ({}))
    await expectRefused('idToken', () => undefined)
    await expectRefused('idToken', () => ({ finishCode: true }))
  })

  it.each<[string, Json, string]>([
    ['amount', { access: [] }, 'document.access'],
    ['payee', { payees: ['https://wallet.example/incoming-payments/1'] }, 'document.payees'],
    ['wallet', { walletAddress: 'https://wallet.example/bob' }, 'document.walletAddress'],
    ['client', { client: 'https://wallet.example/market' }, 'document.client'],
    ['name of the client', { clientName: 'Your bank' }, 'document.clientName'],
    ['interaction', { interaction: randomUUID() }, 'document.interaction'],
    ['auth server', { authServer: 'https://auth.evil/' }, 'document.authServer'],
    ['end', { endsAt: '2030-01-01T00:00:00.000Z' }, 'document.endsAt'],
    ['deadline', { expiresAt: '2030-01-01T00:00:00.000Z' }, 'document.expiresAt'],
    ['member too many', { more: true }, 'document.more'],
    ['language that is none', { language: 'the Queen\u2019s' }, 'document.language'],
    ['document without words', { words: [] }, 'document.words'],
    ['word that is none', { words: [5] }, 'document.words[0]']
  ])('with a document of another %s', async (_what, change, field) => {
    await expectRefused(field, async (_body, grant) => acceptance(grant, {}, change))
  })

  it('with a document that the person did not authenticate', async () => {
    await expectRefused('idToken', (body) => ({
      ...body,
      document: { ...body.document, words: ['Nothing'] }
    }))
  })

  it('with less granted than was authenticated, or more', async () => {
    await expectRefused('document.access', (body) => ({
      ...body,
      access: (body.document.access as Json[]).slice(0, 1)
    }))
    await expectRefused('document.access', async (_body, grant) => {
      const less = ((await documentOf(grant)).access as Json[]).slice(0, 1)
      return acceptance(grant, {}, { access: less })
    })
  })

  it.each<[string, (nonce: string) => JWTPayload]>([
    ['no nonce', () => ({ nonce: undefined })],
    ['another nonce', () => ({ nonce: nonceOf({}) })],
    ['a nonce in another spelling', (nonce) => ({ nonce: `${nonce}=` })],
    ['another audience', () => ({ aud: 'the-shop' })],
    ['another audience beside', () => ({ aud: [PAGE, 'the-shop'] })],
    ['no audience', () => ({ aud: undefined })],
    ['another authorized party', () => ({ azp: 'the-shop' })],
    ['an issuer that nobody configured', () => ({ iss: 'https://login.evil' })],
    ['another issuer that is configured', () => ({ iss: other.issuer })],
    ['the issuer in another spelling', () => ({ iss: `${issuer.issuer}/` })],
    ['no issuer', () => ({ iss: undefined })],
    ['no person', () => ({ sub: undefined })],
    ['another person', () => ({ sub: 'bob' })],
    ['no time', () => ({ iat: undefined })],
    ['no end', () => ({ exp: undefined })],
    ['an end that passed', () => ({ exp: Math.floor(clock.now() / 1_000) - 6 })],
    ['an age that is too great', () => ({ iat: Math.floor(clock.now() / 1_000) - 306 })],
    ['a time to come', () => ({ iat: Math.floor(clock.now() / 1_000) + 60 })],
    ['a time before which it does not count', () => ({ nbf: Math.floor(clock.now() / 1_000) + 60 })],
    ['an acr that is none', () => ({ acr: 5 })]
  ])('with an ID token that has %s', async (what, change) => {
    const field = what === 'another person' ? 'ownership' : 'idToken'
    await expectRefused(field, async (body) => {
      const nonce = nonceOf(body.document)
      const claims = { sub: ALICE_SUB, nonce, ...change(nonce) }
      return { ...body, idToken: await issuer.idToken(claims) }
    })
  })

  it.each<[string, (body: Acceptance) => Promise<string> | string]>([
    ['of a key that nobody published', (body) => signJwt(claimsOf(body), createIssuerKey())],
    [
      'of such a key that names a published one',
      (body) => signJwt(claimsOf(body), createIssuerKey(), { kid: issuer.key.kid })
    ],
    [
      'that carries its key along',
      (body) => {
        const forged = createIssuerKey()
        return signJwt(claimsOf(body), forged, { jwk: forged.jwk })
      }
    ],
    ['of the key of ownership', (body) => signJwt(claimsOf(body), ownershipKey)],
    ['without a signature', (body) => new UnsecuredJWT(claimsOf(body)).encode()],
    [
      'signed with what is published as a secret',
      (body) => hmac(claimsOf(body), JSON.stringify(issuer.key.jwk))
    ],
    [
      'whose claims were changed',
      (body) => {
        const [header = '', , signature = ''] = body.idToken.split('.')
        const claims = Buffer.from(JSON.stringify({ ...claimsOf(body), sub: 'bob' })).toString('base64url')
        return [header, claims, signature].join('.')
      }
    ],
    ['that is an access token', (body) => issuer.idToken(claimsOf(body), { typ: 'at+jwt' })],
    ['that is a statement', (body) => body.ownership],
    ['that is none', () => 'a.b.c'],
    ['that is empty', () => ''],
    ['that is too long', () => 'a'.repeat(16_385)]
  ])('with an ID token %s', async (_what, forge) => {
    await expectRefused('idToken', async (body) => ({ ...body, idToken: await forge(body) }))
  })

  it.each<[string, JWTPayload]>([
    ['another person', { sub: 'bob' }],
    ['a person at another issuer', { holder_issuer: 'https://login.evil' }],
    ['another wallet', { wallet_address: 'https://wallet.example/bob' }],
    ['a wallet that is not there where it is stated', { iss: 'https://wallet.evil' }],
    ['another auth server', { aud: 'https://auth.evil/' }],
    ['an end that passed', { exp: 1_600_000_000 }],
    ['no end', { exp: undefined }],
    ['no time', { iat: undefined }],
    ['an age that is too great', { iat: 1_600_000_000 }],
    ['no id', { jti: undefined }],
    ['nobody', { holder_issuer: undefined }],
    ['a claim that is not there', { holder_claim: { name: 'accounts', value: 'alice' } }],
    ['a claim of everybody', { holder_claim: { name: 'constructor', value: 'alice' } }]
  ])('with a statement of %s', async (_what, claims) => {
    await expectRefused('ownership', async (body) => ({ ...body, ownership: await ownership(claims) }))
  })

  it.each<[string, () => Promise<string> | string]>([
    ['of another key', () => ownership({}, createIssuerKey('EdDSA'))],
    [
      'of another key that names the right one',
      () => ownership({}, createIssuerKey('EdDSA'), { kid: ownershipKey.kid })
    ],
    ['of the key of the issuer', () => ownership({}, issuer.key)],
    ['of another type', () => ownership({}, ownershipKey, { typ: 'JWT' })],
    [
      'signed with what is published as a secret',
      () => hmac({ sub: ALICE_SUB }, JSON.stringify(ownershipKey.jwk))
    ],
    ['without a signature', () => new UnsecuredJWT({ sub: ALICE_SUB }).encode()],
    ['that is none', () => 'ownership']
  ])('with a statement %s', async (_what, forge) => {
    await expectRefused('ownership', async (body) => ({ ...body, ownership: await forge() }))
  })

  it('with the proof of another interaction, whole or in part', async () => {
    const before = await acceptance(await ask())
    await expectRefused('document.interaction', () => before)
    await expectRefused('idToken', (body) => ({ ...body, idToken: before.idToken }))
  })

  it('with a proof that was used: it is decided once', async () => {
    const grant = await ask()
    const body = await acceptance(grant)
    expect(await accept(grant, body)).toMatchObject({ status: 202 })
    const again = await accept(grant, body)
    expect(again).toMatchObject({ status: 400, body: { error: { code: 'invalid_interaction' } } })
    const together = await ask()
    const proof = await acceptance(together)
    const answers = await Promise.all([1, 2, 3].map(() => accept(together, proof)))
    expect(answers.map((answer) => answer.status).sort()).toEqual([202, 400, 400])
  })

  it('too late', async () => {
    const grant = await ask()
    const body = await acceptance(grant)
    auth.clock.advanceSeconds(306)
    expect(await accept(grant, body)).toMatchObject(refusal('idToken'))
    auth.clock.advanceSeconds(300)
    expect(await accept(grant, await acceptance(grant))).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_interaction' } }
    })
  })
})

function claimsOf(body: Acceptance): JWTPayload {
  const [, claims = ''] = body.idToken.split('.')
  return JSON.parse(Buffer.from(claims, 'base64url').toString()) as JWTPayload
}

/** A token that is signed with a shared secret. */
function hmac(claims: JWTPayload, secret: string): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(Buffer.from(secret))
}

describe('clocks', () => {
  it('may differ by the tolerance, and no more', async () => {
    const now = (): number => Math.floor(auth.clock.now() / 1_000)
    for (const [claims, expected] of [
      [{ iat: now() + 5 }, 202],
      [{ iat: now() + 7 }, 400],
      [{ exp: now() - 4 }, 202],
      [{ exp: now() - 6 }, 400]
    ] as const) {
      const grant = await ask()
      expect((await accept(grant, await acceptance(grant, claims))).status).toBe(expected)
    }
  })
})

/** Asks alice for consent at another auth server, which has asked no issuer yet. */
async function askAt(
  server: TestAuthServer,
  limits?: Json
): Promise<{ readonly grant: PendingGrant; readonly proof: Acceptance }> {
  // Each with a key of its own, because keys are cached.
  const client = server.createClient(randomUUID())
  const identifier = createAccountHolder(server)
  const grant = await requestGrant(client, {
    client: client.walletAddress,
    access_token: {
      access: [{ type: 'outgoing-payment', actions: ['create'], identifier, ...(limits && { limits }) }]
    },
    interact: { start: ['redirect'] }
  })
  const shown = await server.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
  const document = { ...(shown.at('document') as Json), ...WORDS }
  const now = Math.floor(server.clock.now() / 1_000)
  const times = { iat: now, exp: now + 300 }
  const proof = {
    document,
    idToken: await issuer.idToken({ sub: ALICE_SUB, nonce: nonceOf(document), ...times }),
    ownership: await ownership({ wallet_address: identifier, iss: server.wallet.origin, ...times })
  }
  return { grant, proof }
}

/** Runs with another auth server at the same time. */
async function withServer(
  changed: Record<string, string>,
  run: (server: TestAuthServer) => Promise<void>
): Promise<void> {
  const server = await startTestAuthServer(changed)
  try {
    await run(server)
  } finally {
    await server.stop()
  }
}

describe('the issuer', () => {
  afterEach(() => {
    issuer.mode = 'up'
    issuer.discovery = {}
    issuer.published = [issuer.key]
  })

  it.each<[string, Partial<Pick<TestIssuer, 'mode' | 'discovery'>>]>([
    ['is down', { mode: 'down' }],
    ['never answers', { mode: 'silent' }],
    ['has the discovery document of another', { discovery: { issuer: 'https://login.evil' } }],
    ['does not say where its keys are', { discovery: { jwks_uri: undefined } }],
    ['has its keys nowhere', { discovery: { jwks_uri: 'keys' } }]
  ])('that %s lets nobody consent: 503, until it is back', async (_what, change) => {
    await withServer(settings(), async (server) => {
      const { grant, proof } = await askAt(server)
      Object.assign(issuer, change)
      const answer = await decide(server, grant, 'accept', proof)
      const details = { idToken: expect.any(String) }
      expect(answer).toMatchObject({ status: 503, body: { error: { code: 'request_denied', details } } })
      expect(answer.headers.get('retry-after')).toBe('5')
      Object.assign(issuer, { mode: 'up', discovery: {} })
      expect(await decide(server, grant, 'accept', proof)).toMatchObject({ status: 202 })
    })
  })

  it('rotates its keys without a gap, and one that it no longer publishes does not count', async () => {
    const [former, next] = [issuer.key, createIssuerKey()]
    const first = await ask()
    expect(await accept(first, await acceptance(first))).toMatchObject({ status: 202 })
    // A new key is looked up at once, unless the keys were just fetched.
    auth.clock.advanceSeconds(10)
    issuer.key = next
    issuer.published = [former, next]
    const fetched = issuer.fetches.count
    const second = await ask()
    expect(await accept(second, await acceptance(second))).toMatchObject({ status: 202 })
    expect(issuer.fetches.count).toBe(fetched + 1)
    issuer.published = [next]
    auth.clock.advanceSeconds(600)
    const third = await ask()
    const proof = await acceptance(third)
    const late = await signJwt(claimsOf(proof), former)
    expect(await accept(third, { ...proof, idToken: late })).toMatchObject(refusal('idToken'))
    expect(await accept(third, proof)).toMatchObject({ status: 202 })
  })

  it('is not asked again for each unknown key', async () => {
    const first = await ask()
    expect(await accept(first, await acceptance(first))).toMatchObject({ status: 202 })
    auth.clock.advanceSeconds(10)
    const fetched = issuer.fetches.count
    for (let count = 0; count < 3; count += 1) {
      const grant = await ask()
      const proof = await acceptance(grant)
      const idToken = await signJwt(claimsOf(proof), createIssuerKey())
      expect(await accept(grant, { ...proof, idToken })).toMatchObject(refusal('idToken'))
    }
    expect(issuer.fetches.count).toBe(fetched + 1)
  })
})

describe('with CONSENT_PROOF', () => {
  it.each<[string, Record<string, string>, Record<'proved' | 'unproved' | 'half', number>]>([
    [
      'required, only proved consent counts',
      { CONSENT_PROOF: 'required' },
      { proved: 202, unproved: 400, half: 400 }
    ],
    [
      'none, a proof is refused: nobody looks at it',
      { CONSENT_PROOF: 'none' },
      { proved: 400, unproved: 202, half: 400 }
    ],
    ['unset, in development, both count, and nothing between', {}, { proved: 202, unproved: 202, half: 400 }]
  ])('%s', async (_what, choice, expected) => {
    await withServer({ ...proving(), ...choice }, async (server) => {
      const statuses: Record<string, number> = {}
      for (const kind of ['proved', 'unproved', 'half'] as const) {
        const { grant, proof } = await askAt(server)
        const body = { proved: proof, unproved: {}, half: { ...proof, ownership: undefined } }[kind]
        statuses[kind] = (await decide(server, grant, 'accept', body)).status
        // Whether it counts only with its record is noted with the approval.
        const text = 'select needs_consent_record as needed from interaction where id = $1'
        const isProved = kind === 'proved' && statuses[kind] === 202
        expect(await server.database.query(text, [grant.interactionId])).toEqual([{ needed: isProved }])
      }
      expect(statuses).toEqual(expected)
    })
  })

  it('none, less than was asked can be granted too', async () => {
    await withServer({ ...proving(), CONSENT_PROOF: 'none' }, async (server) => {
      const { grant, proof } = await askAt(server)
      const [item] = proof.document.access as [Json]
      const granted = [{ ...item, limits: { debitAmount: usd(5) } }]
      expect(await decide(server, grant, 'accept', { access: granted })).toMatchObject({ status: 202 })
      const shown = await server.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
      expect(shown.at('access')).toEqual(granted)
    })
  })
})

describe('consent that needs a fresh sign-in', () => {
  const demanding = {
    CONSENT_SIGN_IN_FROM: '100.00 USD',
    CONSENT_SIGN_IN_AGE_MAX_SECONDS: '120',
    CONSENT_SIGN_IN_ACR_VALUES: 'strong stronger'
  }
  let server: TestAuthServer
  beforeAll(async () => {
    server = await startTestAuthServer({ ...settings(), ...demanding })
  })
  afterAll(() => server.stop())

  /** Asks for an amount, and accepts as the account holder signed in so long ago. */
  const acceptedFrom = async (
    value: number,
    { ageSeconds, acr }: { ageSeconds?: number; acr?: string } = {},
    granted = value
  ): Promise<Answer> => {
    const { grant, proof } = await askAt(server, { debitAmount: usd(value) })
    const [item] = proof.document.access as [Json]
    const less = granted === value ? {} : { access: [{ ...item, limits: { debitAmount: usd(granted) } }] }
    const document: Json = { ...proof.document, ...less }
    const now = Math.floor(server.clock.now() / 1_000)
    const idToken = await issuer.idToken({
      ...{ sub: ALICE_SUB, nonce: nonceOf(document), iat: now, exp: now + 300 },
      ...(ageSeconds === undefined ? {} : { auth_time: now - ageSeconds }),
      ...(acr === undefined ? {} : { acr })
    })
    return decide(server, grant, 'accept', { ...proof, ...less, idToken, document })
  }

  it('counts with one, and below the amount without', async () => {
    expect(await acceptedFrom(10_000, { ageSeconds: 120, acr: 'stronger' })).toMatchObject({ status: 202 })
    expect(await acceptedFrom(9_999)).toMatchObject({ status: 202 })
    expect(await acceptedFrom(10_000, {}, 9_999)).toMatchObject({ status: 202 })
  })

  it.each([
    ['an old sign-in', { ageSeconds: 200, acr: 'strong' }],
    ['a weak one', { ageSeconds: 0, acr: 'weak' }],
    ['one of which the issuer does not say how', { ageSeconds: 0 }],
    ['one of which it does not say when', { acr: 'strong' }]
  ])('does not count with %s', async (_what, signIn) => {
    expect(await acceptedFrom(10_000, signIn)).toMatchObject(refusal('idToken'))
  })

  it('is told to the page before', async () => {
    const shown = async (limits: Json): Promise<unknown> => {
      const { grant } = await askAt(server, limits)
      return (await server.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)).at(
        'signIn'
      )
    }
    expect(await shown({ debitAmount: usd(10_000) })).toEqual({
      ageMaxSeconds: 120,
      acrValues: ['strong', 'stronger']
    })
    expect(await shown({ debitAmount: usd(9_999) })).toBeNull()
  })
})
