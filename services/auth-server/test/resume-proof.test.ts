import { createHash, randomUUID } from 'node:crypto'
import { callUnary, createClient, isRpcError, status } from '@open-payments-server/grpc-transport'
import { auth as contract } from '@open-payments-server/proto'
import {
  createIssuerKey,
  type IssuerKey,
  signJwt,
  startTestIssuer,
  type TestIssuer
} from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import canonicalize from 'canonicalize'
import type { JWTPayload } from 'jose'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from './auth-server.js'
import { createAccountHolder, decide, requestGrant } from './grants.js'
import { untilWaiting, whileLocked } from './support/while-locked.js'

const PAGE = 'consent-page'
const [ALICE_SUB, BOB_SUB] = ['alice-7f3a', 'bob-11c0']
const PAUSED = contract.AllowedGrantState.ALLOWED_GRANT_STATE_PAUSED
const IN_FORCE = contract.AllowedGrantState.ALLOWED_GRANT_STATE_IN_FORCE
const usd = (value: number) => ({ value: String(value), assetCode: 'USD', assetScale: 2 })
const once = { idempotent: false }

let issuer: TestIssuer
let ownershipKey: IssuerKey
const clock = { now: () => required.auth.clock.now() }

/** An auth server, as pages reach it. */
interface Reached {
  readonly auth: TestAuthServer
  readonly holder: contract.HolderGrantServiceClient
  stop(): Promise<void>
}

async function reach(settings: Record<string, string>): Promise<Reached> {
  const auth = await startTestAuthServer({
    CONSENT_ISSUERS: `${PAGE}@${issuer.issuer}`,
    OWNERSHIP_PUBLIC_KEYS: JSON.stringify({ keys: [ownershipKey.jwk] }),
    ...settings
  })
  const holder = createClient(contract.HolderGrantServiceClient, {
    target: `127.0.0.1:${String(auth.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })
  return {
    auth,
    holder,
    async stop() {
      holder.close()
      await auth.stop()
    }
  }
}

/** Resuming must be proved there. */
let required: Reached

beforeAll(async () => {
  issuer = await startTestIssuer(clock, PAGE)
  ownershipKey = createIssuerKey('EdDSA')
  required = await reach({ CONSENT_PROOF: 'required' })
})
afterAll(async () => {
  await required.stop()
  await issuer.stop()
})

const hashOf = (document: string): string => createHash('sha256').update(document).digest('base64url')

/** A statement of the resource server; further claims take precedence. */
function ownershipAt({ auth }: Reached, claims: JWTPayload = {}, name = 'alice'): Promise<string> {
  const now = Math.floor(auth.clock.now() / 1_000)
  const usual = {
    iss: auth.wallet.origin,
    aud: PUBLIC_URL,
    sub: ALICE_SUB,
    holder_issuer: issuer.issuer,
    wallet_address: createAccountHolder(auth, name),
    iat: now,
    exp: now + 300,
    jti: randomUUID()
  }
  return signJwt({ ...usual, ...claims }, ownershipKey, { typ: 'ownership+jwt' })
}

function idTokenAt({ auth }: Reached, nonce: string, claims: JWTPayload = {}): Promise<string> {
  const now = Math.floor(auth.clock.now() / 1_000)
  return issuer.idToken({ sub: ALICE_SUB, nonce, iat: now, exp: now + 300, ...claims })
}

/** A grant that alice consented to with a proof, and paused. Returns its id. */
async function pausedAt(reached: Reached, value = 2_500): Promise<string> {
  const { auth } = reached
  const shop = auth.createClient(randomUUID())
  const identifier = createAccountHolder(auth)
  const limits = { debitAmount: usd(value) }
  const grant = await requestGrant(shop, {
    client: shop.walletAddress,
    access_token: { access: [{ type: 'outgoing-payment', actions: ['create'], identifier, limits }] },
    interact: { start: ['redirect'] }
  })
  const shown = await auth.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
  const document = { ...(shown.at('document') as object), language: 'en', words: ['Let the shop take it'] }
  const now = Math.floor(auth.clock.now() / 1_000)
  const proof = {
    document,
    idToken: await idTokenAt(reached, hashOf(canonicalize(document) ?? ''), { auth_time: now }),
    ownership: await ownershipAt(reached)
  }
  const accepted = await decide(auth, grant, 'accept', shown.at('consentProof') === 'none' ? {} : proof)
  expect(accepted).toMatchObject({ status: 202 })
  const grantId = grant.continueUri.split('/').at(-1) ?? ''
  await act(reached, 'pauseGrant', grantId)
  return grantId
}

const actingAt = ({ auth }: Reached, sub = ALICE_SUB): contract.ActingHolder => ({
  holder: { issuer: issuer.issuer, sub },
  walletAddresses: [createAccountHolder(auth)]
})
const act = (reached: Reached, method: 'pauseGrant' | 'stopGrant', grantId: string): Promise<unknown> =>
  callUnary(reached.holder, method, { acting: actingAt(reached), grantId }, once)
const lower = (reached: Reached, grantId: string): Promise<unknown> => {
  const limits = [{ accessIndex: 0, debitAmount: usd(100), receiveAmount: undefined }]
  const request = { acting: actingAt(reached), grantId, limits, endTime: undefined }
  return callUnary(reached.holder, 'lowerGrant', request, once)
}
const read = (reached: Reached, grantId: string, sub?: string) =>
  callUnary(
    reached.holder,
    'getAllowedGrant',
    { acting: actingAt(reached, sub), grantId },
    { idempotent: true }
  )
const documentOf = async (reached: Reached, grantId: string): Promise<string> =>
  (await read(reached, grantId)).resumption?.document ?? ''

interface Proof {
  readonly idToken: string
  readonly ownership: string
}
const NOTHING: Proof = { idToken: '', ownership: '' }

/** A proof of alice's that is right; claims of her ID token take precedence. */
async function proofOf(reached: Reached, grantId: string, claims: JWTPayload = {}): Promise<Proof> {
  return {
    idToken: await idTokenAt(reached, hashOf(await documentOf(reached, grantId)), claims),
    ownership: await ownershipAt(reached)
  }
}

/** What is sent to resume. */
type Sent = Proof & { readonly seenActId?: string }

const resume = (reached: Reached, grantId: string, sent: Sent, sub?: string) =>
  callUnary(reached.holder, 'resumeGrant', { acting: actingAt(reached, sub), grantId, ...sent }, once)

/** The state after it, or the code and the field of the refusal. */
async function resumed(reached: Reached, grantId: string, sent: Sent, sub?: string): Promise<unknown> {
  try {
    return (await resume(reached, grantId, sent, sub)).grant?.state
  } catch (error) {
    if (!isRpcError(error)) throw error
    return `${status[error.code]} ${error.field ?? ''}`
  }
}

const stateOf = async (reached: Reached, grantId: string): Promise<unknown> =>
  (await read(reached, grantId)).grant?.state

describe('resuming that is proved', () => {
  it('is done by the person of the ID token, and what it is about is told before', async () => {
    const grantId = await pausedAt(required)
    const { acts, resumption } = await read(required, grantId)
    expect(JSON.parse(resumption?.document ?? '')).toEqual({
      authServer: PUBLIC_URL,
      grant: grantId,
      act: 'resumed',
      after: acts[0]?.actId
    })
    expect(resumption?.signIn).toBeUndefined()
    expect(canonicalize(JSON.parse(resumption?.document ?? ''))).toBe(resumption?.document)
    // Whoever the caller says that they are.
    const proof = await proofOf(required, grantId)
    expect(await resumed(required, grantId, proof, 'somebody')).toBe(IN_FORCE)
    const after = await read(required, grantId)
    expect(after.resumption).toBeUndefined()
    expect(after.acts[0]).toMatchObject({
      kind: contract.GrantActKind.GRANT_ACT_KIND_RESUMED,
      holder: { issuer: issuer.issuer, sub: ALICE_SUB }
    })
    // What proved it is kept.
    const kept = await required.auth.database.query(
      'select kind, needs_proof, document, id_token, ownership from grant_act where grant_id = $1 order by at',
      [grantId]
    )
    expect(kept).toEqual([
      { kind: 'paused', needs_proof: false, document: null, id_token: null, ownership: null },
      {
        ...{ kind: 'resumed', needs_proof: true, document: resumption?.document },
        ...{ id_token: proof.idToken, ownership: proof.ownership }
      }
    ])
  })

  it('keeps a whole proof where one is needed, and none elsewhere: the database refuses anything between', async () => {
    const grantId = await pausedAt(required)
    await resume(required, grantId, await proofOf(required, grantId))
    for (const [needed, ownership] of [
      [true, null],
      [false, 'a statement']
    ])
      await expect(
        required.auth.database.query(
          `insert into grant_act (id, grant_id, kind, before, after, counted, issuer, sub, at, needs_proof, document, id_token, ownership)
             select gen_random_uuid(), grant_id, kind, before, after, counted, issuer, sub, at, $2, document, id_token, $3
               from grant_act where grant_id = $1 and kind = 'resumed'`,
          [grantId, needed, ownership]
        )
      ).rejects.toThrow('grant_act_proof_is_whole')
  })

  it('has no further effect when it is repeated, also without a proof', async () => {
    const grantId = await pausedAt(required)
    const proof = await proofOf(required, grantId)
    expect(await resumed(required, grantId, proof)).toBe(IN_FORCE)
    expect(await resumed(required, grantId, proof)).toBe(IN_FORCE)
    expect(await resumed(required, grantId, NOTHING)).toBe(IN_FORCE)
    expect((await read(required, grantId)).acts).toHaveLength(2)
  })

  it('is done once by many with one proof, and by none after the pause that follows', async () => {
    const grantId = await pausedAt(required)
    const proof = await proofOf(required, grantId)
    const answers = await Promise.all([1, 2, 3].map(() => resumed(required, grantId, proof)))
    expect(answers).toEqual([IN_FORCE, IN_FORCE, IN_FORCE])
    const racing = [1, 2, 3].map(() => resumed(required, grantId, proof))
    await Promise.all([act(required, 'pauseGrant', grantId), ...racing])
    expect(await stateOf(required, grantId)).toBe(PAUSED)
    expect((await read(required, grantId)).acts).toHaveLength(3)
  })
})

describe('a page that was taken over can resume nothing:', () => {
  /** Refused so, and nothing changed. Then alice can still resume it. */
  async function expectRefused(
    answer: string,
    forge: (proof: Proof, grantId: string) => Proof | Promise<Proof>
  ): Promise<void> {
    const grantId = await pausedAt(required)
    const proof = await proofOf(required, grantId)
    expect(await resumed(required, grantId, await forge(proof, grantId))).toBe(answer)
    expect(await stateOf(required, grantId)).toBe(PAUSED)
    expect((await read(required, grantId)).acts).toHaveLength(1)
    expect(await resumed(required, grantId, proof)).toBe(IN_FORCE)
  }

  it.each<[string, string, Partial<Proof>]>([
    ['any proof', 'id_token', NOTHING],
    ['an ID token', 'id_token', { idToken: '' }],
    ['a statement', 'ownership', { ownership: '' }]
  ])('without %s', async (_what, field, missing) => {
    await expectRefused(`INVALID_ARGUMENT ${field}`, (proof) => ({ ...proof, ...missing }))
  })

  it.each<[string, JWTPayload]>([
    ['an age that is too great', { iat: 1_600_000_000 }],
    ['an end that passed', { exp: 1_600_000_000 }],
    ['another audience', { aud: 'the-shop' }],
    ['another issuer', { iss: 'https://login.evil' }],
    ['no nonce', { nonce: undefined }]
  ])('with an ID token that has %s', async (_what, claims) => {
    await expectRefused('INVALID_ARGUMENT id_token', (_proof, grantId) => proofOf(required, grantId, claims))
  })

  it('with an ID token that is too long, or of another key', async () => {
    await expectRefused('INVALID_ARGUMENT id_token', (proof) => ({ ...proof, idToken: 'a'.repeat(16_385) }))
    await expectRefused('INVALID_ARGUMENT ownership', (proof) => ({ ...proof, ownership: 'a'.repeat(8_193) }))
    await expectRefused('INVALID_ARGUMENT id_token', async (proof, grantId) => {
      const nonce = hashOf(await documentOf(required, grantId))
      const now = Math.floor(clock.now() / 1_000)
      const claims = { iss: issuer.issuer, aud: PAGE, sub: ALICE_SUB, nonce, iat: now, exp: now + 300 }
      return { ...proof, idToken: await signJwt(claims, createIssuerKey(), { kid: issuer.key.kid }) }
    })
  })

  it('with the ID token of another person, who does not hold the wallet', async () => {
    await expectRefused('INVALID_ARGUMENT ownership', (_proof, grantId) =>
      proofOf(required, grantId, { sub: BOB_SUB })
    )
  })

  it('with the ID token of another grant', async () => {
    const other = await proofOf(required, await pausedAt(required))
    await expectRefused('INVALID_ARGUMENT id_token', () => other)
  })

  it('with the ID token of a consent', async () => {
    await expectRefused('INVALID_ARGUMENT id_token', async (proof, grantId) => {
      const [row] = await required.auth.database.query<{ idToken: string }>(
        'select id_token as "idToken" from consent_record where grant_id = $1',
        [grantId]
      )
      return { ...proof, idToken: row?.idToken ?? '' }
    })
  })

  it('with a proof that was used, once it is paused again', async () => {
    const grantId = await pausedAt(required)
    const proof = await proofOf(required, grantId)
    expect(await resumed(required, grantId, proof)).toBe(IN_FORCE)
    await act(required, 'pauseGrant', grantId)
    expect(await resumed(required, grantId, proof)).toBe('INVALID_ARGUMENT id_token')
    expect(await stateOf(required, grantId)).toBe(PAUSED)
    expect(await resumed(required, grantId, await proofOf(required, grantId))).toBe(IN_FORCE)
  })

  it('with a proof from before it was lowered, which is not what somebody saw', async () => {
    const grantId = await pausedAt(required)
    const proof = await proofOf(required, grantId)
    await lower(required, grantId)
    expect(await resumed(required, grantId, proof)).toBe('INVALID_ARGUMENT id_token')
    expect(await stateOf(required, grantId)).toBe(PAUSED)
  })

  it('without a proof that it needs since another pause came first, however close', async () => {
    const grantId = await pausedAt(required)
    await resume(required, grantId, await proofOf(required, grantId))
    const { database } = required.auth
    const lock = { text: 'select 1 from grant_request where id = $1 for update', values: [grantId] }
    const answers = whileLocked(database, { ...lock, waiting: 2 }, async () => {
      const pausing = act(required, 'pauseGrant', grantId)
      // It reads that nothing is to be proved, and then waits behind the pause.
      await untilWaiting(database, 1)
      const resuming = resumed(required, grantId, NOTHING)
      await pausing
      return resuming
    })
    expect(await answers).toBe('INVALID_ARGUMENT id_token')
    expect(await stateOf(required, grantId)).toBe(PAUSED)
  })

  it.each<[string, JWTPayload, string]>([
    ['another wallet', {}, 'bob'],
    ['another person', { sub: BOB_SUB }, 'alice'],
    ['another auth server', { aud: 'https://auth.evil/' }, 'alice'],
    ['an end that passed', { exp: 1_600_000_000 }, 'alice']
  ])('with a statement of %s', async (_what, claims, name) => {
    await expectRefused('INVALID_ARGUMENT ownership', async (proof) => ({
      ...proof,
      ownership: await ownershipAt(required, claims, name)
    }))
  })

  it('for whoever holds the wallet now, by the consent of another, whoever it says that they are', async () => {
    await expectRefused('PERMISSION_DENIED grant_id', async (_proof, grantId) => ({
      ...(await proofOf(required, grantId, { sub: BOB_SUB })),
      ownership: await ownershipAt(required, { sub: BOB_SUB })
    }))
  })

  it('and is not told who else acted', async () => {
    const grantId = await pausedAt(required)
    const { acts } = await read(required, grantId, 'somebody')
    expect(acts).toMatchObject([{ kind: contract.GrantActKind.GRANT_ACT_KIND_PAUSED, holder: undefined }])
    expect((await read(required, grantId)).acts).toMatchObject([{ holder: { sub: ALICE_SUB } }])
  })
})

describe.each(['none', 'required'])('after another act than was shown, CONSENT_PROOF=%s', (consentProof) => {
  let server: Reached

  beforeAll(async () => {
    server = await reach({ CONSENT_PROOF: consentProof })
  })
  afterAll(() => server.stop())

  const lastActOf = async (grantId: string): Promise<string> =>
    (await read(server, grantId)).acts[0]?.actId ?? ''
  /** As it is wanted by whoever was shown that act. */
  const wish = async (grantId: string, seenActId: string): Promise<Sent> => ({
    ...(consentProof === 'none' ? NOTHING : await proofOf(server, grantId)),
    seenActId
  })

  it('nothing is resumed', async () => {
    const grantId = await pausedAt(server)
    const before = await lastActOf(grantId)
    await lower(server, grantId)
    for (const seen of [before, ''])
      expect(await resumed(server, grantId, await wish(grantId, seen))).toBe('INVALID_ARGUMENT seen_act_id')
    expect(await stateOf(server, grantId)).toBe(PAUSED)
    const sent = await wish(grantId, await lastActOf(grantId))
    expect(await resumed(server, grantId, sent)).toBe(IN_FORCE)
    // What is so already stays so: an answer may have been lost.
    expect(await resumed(server, grantId, sent)).toBe(IN_FORCE)
    await act(server, 'pauseGrant', grantId)
    expect(await resumed(server, grantId, await wish(grantId, sent.seenActId ?? ''))).toBe(
      'INVALID_ARGUMENT seen_act_id'
    )
    expect(await stateOf(server, grantId)).toBe(PAUSED)
  })
})

it('without a proof nothing is resumed after an act that came first, however close', async () => {
  const server = await reach({ CONSENT_PROOF: 'none' })
  try {
    const grantId = await pausedAt(server)
    const seenActId = (await read(server, grantId)).acts[0]?.actId ?? ''
    const { database } = server.auth
    const lock = { text: 'select 1 from grant_request where id = $1 for update', values: [grantId] }
    const answers = whileLocked(database, { ...lock, waiting: 2 }, async () => {
      const lowering = lower(server, grantId)
      await untilWaiting(database, 1)
      const resuming = resumed(server, grantId, { ...NOTHING, seenActId })
      await lowering
      return resuming
    })
    expect(await answers).toBe('INVALID_ARGUMENT seen_act_id')
    expect(await stateOf(server, grantId)).toBe(PAUSED)
  } finally {
    await server.stop()
  }
})

it('what only takes away needs no proof', async () => {
  const grantId = await pausedAt(required)
  await act(required, 'stopGrant', grantId)
  expect(await resumed(required, grantId, NOTHING)).toBe('FAILED_PRECONDITION grant_id')
})

describe('the issuer', () => {
  afterEach(() => {
    issuer.mode = 'up'
  })

  it('that is down lets nobody resume: UNAVAILABLE, until it is back', async () => {
    const server = await reach({
      CONSENT_PROOF: 'required',
      INTERACTION_REFERENCE_LIFETIME_SECONDS: '3600'
    })
    try {
      const grantId = await pausedAt(server)
      // The keys that were fetched for the consent count no longer.
      server.auth.clock.advanceSeconds(601)
      const proof = await proofOf(server, grantId)
      issuer.mode = 'down'
      expect(await resumed(server, grantId, proof)).toBe('UNAVAILABLE id_token')
      expect(await stateOf(server, grantId)).toBe(PAUSED)
      issuer.mode = 'up'
      server.auth.clock.advanceSeconds(30)
      expect(await resumed(server, grantId, await proofOf(server, grantId))).toBe(IN_FORCE)
    } finally {
      await server.stop()
    }
  })
})

describe('with CONSENT_PROOF', () => {
  it.each<[string, Record<string, string>, Record<'proved' | 'unproved' | 'half', unknown>]>([
    [
      'required, only what is proved counts',
      { CONSENT_PROOF: 'required' },
      { proved: IN_FORCE, unproved: 'INVALID_ARGUMENT id_token', half: 'INVALID_ARGUMENT ownership' }
    ],
    [
      'none, a proof is refused, and none is asked for',
      { CONSENT_PROOF: 'none' },
      { proved: 'INVALID_ARGUMENT id_token', unproved: IN_FORCE, half: 'INVALID_ARGUMENT id_token' }
    ],
    [
      'unset, in development, both count, and nothing between',
      {},
      { proved: IN_FORCE, unproved: IN_FORCE, half: 'INVALID_ARGUMENT ownership' }
    ]
  ])('%s', async (_what, settings, expected) => {
    const server = await reach(settings)
    try {
      const answers: Record<string, unknown> = {}
      for (const kind of ['proved', 'unproved', 'half'] as const) {
        const grantId = await pausedAt(server)
        const { resumption } = await read(server, grantId)
        expect(resumption === undefined).toBe(settings.CONSENT_PROOF === 'none')
        const proof = await proofOf(server, grantId)
        const sent = { proved: proof, unproved: NOTHING, half: { ...proof, ownership: '' } }[kind]
        answers[kind] = await resumed(server, grantId, sent)
      }
      expect(answers).toEqual(expected)
    } finally {
      await server.stop()
    }
  })
})

it('resuming that lets much be taken needs a fresh sign-in, and says so before', async () => {
  const server = await reach({
    CONSENT_PROOF: 'required',
    CONSENT_SIGN_IN_FROM: '100.00 USD',
    CONSENT_SIGN_IN_AGE_MAX_SECONDS: '120'
  })
  try {
    const grantId = await pausedAt(server, 10_000)
    const now = (): number => Math.floor(server.auth.clock.now() / 1_000)
    expect((await read(server, grantId)).resumption?.signIn).toEqual({ ageMaxSeconds: 120, acrValues: [] })
    for (const claims of [{}, { auth_time: now() - 200 }])
      expect(await resumed(server, grantId, await proofOf(server, grantId, claims))).toBe(
        'INVALID_ARGUMENT id_token'
      )
    expect(await stateOf(server, grantId)).toBe(PAUSED)
    const proof = await proofOf(server, grantId, { auth_time: now() - 100 })
    expect(await resumed(server, grantId, proof)).toBe(IN_FORCE)
    const small = await pausedAt(server, 9_999)
    expect((await read(server, small)).resumption?.signIn).toBeUndefined()
    expect(await resumed(server, small, await proofOf(server, small))).toBe(IN_FORCE)
  } finally {
    await server.stop()
  }
})
