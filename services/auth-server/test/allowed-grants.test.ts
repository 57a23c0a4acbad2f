import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, isRpcError, type RequestOf, status } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { RevocationEvent } from '../src/domain/revocations.js'
import { ALICE, eur, GrpcFixture, spending, usd, type WrittenGrant } from './support/grpc-fixture.js'

const BOB = 'https://wallet.example/bob'
const MONTHLY = 'R12/2026-01-01T00:00:00Z/P1M'
const HOLDER = { issuer: 'https://login.wallet.example', sub: 'alice-1' }
const ACTING = { holder: HOLDER, walletAddresses: [ALICE] }

let server: GrpcFixture
/** Events on the bus, in their order. */
const told: RevocationEvent[] = []

beforeAll(async () => {
  server = await GrpcFixture.start()
  await server.bus.subscribe({
    onEvent: (event) => told.push(event),
    onInterrupted: () => undefined,
    onResumed: () => undefined
  })
})
afterAll(() => server.stop())

type Holding = auth.HolderGrantServiceClient
type LowerRequest = Partial<RequestOf<Holding, 'lowerGrant'>>

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => {
      if (!isRpcError(error)) throw error
      return `${status[error.code]} ${String(error.field)}`
    }
  )
const amount = (value: bigint, assetCode = 'USD') => ({ value: String(value), assetCode, assetScale: 2 })
const change = (method: 'pauseGrant' | 'resumeGrant' | 'stopGrant', grantId: string, acting = ACTING) =>
  callUnary(server.holder, method, { acting, grantId, idToken: '', ownership: '' }, { idempotent: false })
const lower = (grantId: string, request: LowerRequest, acting = ACTING) =>
  callUnary(
    server.holder,
    'lowerGrant',
    { acting, grantId, limits: [], endTime: undefined, ...request },
    { idempotent: false }
  )
const lowerTo = (grantId: string, value: bigint, accessIndex = 0) =>
  lower(grantId, { limits: [{ accessIndex, debitAmount: amount(value), receiveAmount: undefined }] })
const read = (grantId: string, acting = ACTING) =>
  callUnary(server.holder, 'getAllowedGrant', { acting, grantId }, { idempotent: true })
const list = (request: Partial<auth.ListAllowedGrantsRequest> = {}) =>
  callUnary(
    server.holder,
    'listAllowedGrants',
    {
      acting: ACTING,
      state: auth.AllowedGrantState.ALLOWED_GRANT_STATE_UNSPECIFIED,
      pageSize: 0,
      pageToken: '',
      ...request
    },
    { idempotent: true }
  )
const monthly = (value = 1_000n): Promise<WrittenGrant> =>
  server.grant({ access: [spending({ debitAmount: usd(value), interval: MONTHLY })] })
const audit = async (): Promise<readonly string[]> =>
  (await callUnary(server.operator, 'auditLimits', {}, { idempotent: false })).violations
describe('a paused grant', () => {
  it('reserves nothing, and the same payment is reserved once it is resumed', async () => {
    const { grantId, token } = await monthly()
    const payment = server.payment(token)
    const { grant } = await change('pauseGrant', grantId)
    expect(grant?.state).toBe(auth.AllowedGrantState.ALLOWED_GRANT_STATE_PAUSED)
    expect(grant?.pauseTime).toEqual(new Date(server.clock.now()))
    expect(told.at(-1)).toEqual({ kind: 'changed-grant', grantId })
    expect(await server.reserveAs(payment)).toEqual({ refused: 'GRANT_PAUSED' })
    // Also together with others, whose grants are not affected.
    const other = await monthly()
    const together = [server.payment(token), server.payment(other.token)]
    expect(await server.reserveMany(together)).toMatchObject([
      { refused: 'GRANT_PAUSED' },
      { reserved: expect.anything() }
    ])
    await change('resumeGrant', grantId)
    expect(await server.reserveAs(payment)).toMatchObject({ reserved: ['100 USD', '100 USD'] })
  })

  it('leaves its tokens active to read, and its pending payments go on', async () => {
    const { grantId, token } = await monthly()
    const payment = server.payment(token)
    await server.reserveAs(payment)
    expect(await server.introspect(token)).toMatchObject({ grantPaused: false })
    await change('pauseGrant', grantId)
    expect(await server.introspect(token)).toMatchObject({
      status: auth.TokenStatus.TOKEN_STATUS_ACTIVE,
      grantPaused: true
    })
    await server.settle(payment.paymentId, 100n, 100n)
    await change('resumeGrant', grantId)
    expect(await server.introspect(token)).toMatchObject({ grantPaused: false })
  })

  it('keeps its pause when it is paused again, which tells of it again', async () => {
    const { grantId } = await monthly()
    const first = await change('pauseGrant', grantId)
    server.clock.advanceSeconds(1)
    told.length = 0
    expect(await change('pauseGrant', grantId)).toEqual(first)
    expect(told).toEqual([{ kind: 'changed-grant', grantId }])
    await change('resumeGrant', grantId)
    await change('resumeGrant', grantId)
    const { acts } = await read(grantId)
    expect(acts.map(({ kind }) => kind)).toEqual([
      auth.GrantActKind.GRANT_ACT_KIND_RESUMED,
      auth.GrantActKind.GRANT_ACT_KIND_PAUSED
    ])
    expect(acts).toMatchObject([{ holder: HOLDER }, { holder: HOLDER }])
  })
})

describe('a lowered grant', () => {
  it('has room for no more than what is left of the lowered limit, at once', async () => {
    const { grantId, token } = await monthly()
    await server.reserve(token, { debit: usd(300n) })
    const { grant } = await lowerTo(grantId, 500n)
    expect(grant?.access).toMatchObject([
      {
        access: { limits: { debitAmount: amount(500n), interval: MONTHLY } },
        consentedLimits: { debitAmount: amount(1_000n) },
        spentDebitAmount: amount(300n),
        intervalEndTime: new Date('2026-02-01T00:00:00Z')
      }
    ])
    const tooMuch = server.payment(token, { debit: usd(201n), receive: usd(201n) })
    expect(await server.reserveAs(tooMuch)).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await server.remaining(tooMuch)).toMatchObject({ debit: '200 USD' })
    expect(await server.reserve(token, { debit: usd(200n) })).toMatchObject({
      reserved: ['500 USD', '200 USD']
    })
    expect(await audit()).toEqual([])
  })

  it('keeps what was spent above it, and nothing fits any more until the next interval', async () => {
    const { grantId, token } = await monthly()
    const payment = server.payment(token, { debit: usd(800n), receive: usd(800n) })
    await server.reserveAs(payment)
    await lowerTo(grantId, 500n)
    const one = server.payment(token, { debit: usd(1n), receive: usd(1n) })
    expect(await server.reserveAs(one)).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await server.remaining(one)).toMatchObject({ debit: '0 USD' })
    expect(await audit()).toEqual([])
    // What is returned makes room only below the lowered limit.
    await server.settle(payment.paymentId, 400n, 400n)
    expect(await server.reserve(token, { debit: usd(101n) })).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await server.reserve(token, { debit: usd(100n) })).toMatchObject({
      reserved: ['500 USD', '500 USD']
    })
    expect(await audit()).toEqual([])
  })

  it('shows its client the lowered access, also with a token that was introspected before', async () => {
    const { grantId, token } = await monthly()
    await server.introspect(token)
    await lowerTo(grantId, 400n)
    const { access } = await server.introspect(token)
    expect(access).toMatchObject([{ limits: { debitAmount: amount(400n) } }])
  })

  it('cannot be raised again, and repeating it changes nothing', async () => {
    const { grantId } = await monthly()
    const first = await lowerTo(grantId, 400n)
    expect(await lowerTo(grantId, 400n)).toEqual(first)
    expect(await refusalOf(lowerTo(grantId, 401n))).toBe('INVALID_ARGUMENT limits[0].debit_amount.value')
    expect(await read(grantId)).toMatchObject({ grant: first.grant, acts: [{}] })
  })

  it('gets a limit where none was', async () => {
    const { grantId, token } = await server.grant({ access: [spending(undefined)] })
    await server.reserve(token, { debit: usd(5_000n) })
    await lowerTo(grantId, 6_000n)
    expect(await server.reserve(token, { debit: usd(1_001n) })).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await server.reserve(token, { debit: usd(1_000n) })).toMatchObject({
      reserved: ['6000 USD', '200 USD']
    })
    expect(await audit()).toEqual([])
  })

  it.each<[string, LowerRequest, string]>([
    ['nothing', {}, 'limits'],
    [
      'an item that is not there',
      { limits: [{ accessIndex: 1, debitAmount: amount(1n), receiveAmount: undefined }] },
      'limits[0].access_index'
    ],
    [
      'no amount',
      { limits: [{ accessIndex: 0, debitAmount: undefined, receiveAmount: undefined }] },
      'limits[0].debit_amount'
    ],
    [
      'another asset',
      { limits: [{ accessIndex: 0, debitAmount: amount(1n, 'EUR'), receiveAmount: undefined }] },
      'limits[0].debit_amount.asset_code'
    ],
    [
      'a malformed amount',
      { limits: [{ accessIndex: 0, debitAmount: { ...amount(1n), value: '-1' }, receiveAmount: undefined }] },
      'limits[0].debit_amount.value'
    ],
    [
      'a limit on what is received where none was',
      { limits: [{ accessIndex: 0, debitAmount: undefined, receiveAmount: amount(1n) }] },
      'limits[0].receive_amount'
    ],
    ['an end that is past', { endTime: new Date(0) }, 'end_time'],
    ['an end after the one that was set', { endTime: new Date('2027-01-02T00:00:00Z') }, 'end_time']
  ])('refuses %s, and nothing changes', async (_what, request, field) => {
    const { grantId } = await monthly()
    await server.database.query(`update grant_request set ends_at = '2027-01-01' where id = '${grantId}'`)
    expect(await refusalOf(lower(grantId, request))).toBe(`INVALID_ARGUMENT ${field}`)
    expect((await read(grantId)).acts).toEqual([])
  })

  it('ends when its account holder set it: no token is active any more', async () => {
    const { grantId, token } = await monthly()
    await server.introspect(token)
    const endTime = new Date(server.clock.now() + 60_000)
    expect((await lower(grantId, { endTime })).grant).toMatchObject({ endTime })
    expect(await server.introspect(token)).toMatchObject({ expireTime: endTime })
    expect(await server.reserve(token)).toMatchObject({ reserved: expect.anything() })
    server.clock.advanceSeconds(60)
    expect(await server.reserve(token)).toEqual({ refused: 'INACTIVE_TOKEN' })
    expect(await server.introspect(token)).toMatchObject({ status: auth.TokenStatus.TOKEN_STATUS_INACTIVE })
    expect((await read(grantId)).grant?.state).toBe(auth.AllowedGrantState.ALLOWED_GRANT_STATE_ENDED)
    expect(await refusalOf(change('pauseGrant', grantId))).toBe('FAILED_PRECONDITION grant_id')
  })

  it('lets nothing through above it, whatever is reserved at the same time', async () => {
    const { grantId, token } = await monthly(2_000n)
    const reserving = Array.from({ length: 20 }, () => server.reserve(token))
    const lowering = [lowerTo(grantId, 1_000n), lowerTo(grantId, 700n)].map((call) =>
      call.then(
        () => undefined,
        (error: unknown) => {
          if (!isRpcError(error)) throw error
        }
      )
    )
    await Promise.all([...reserving, ...lowering])
    const { grant } = await read(grantId)
    const spent = BigInt(grant?.access[0]?.spentDebitAmount?.value ?? 0)
    expect(grant?.access[0]?.access?.limits?.debitAmount).toEqual(amount(700n))
    // Begun after the answer: it meets the lowered limit, whatever was spent before.
    const room = spent < 700n ? 700n - spent : 0n
    expect(await server.reserve(token, { debit: usd(room + 1n) })).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await audit()).toEqual([])
  })
})

describe('a stopped grant', () => {
  it('has no active token, and its reservations can still end', async () => {
    const { grantId, token } = await monthly()
    const payment = server.payment(token)
    await server.reserveAs(payment)
    const { grant } = await change('stopGrant', grantId)
    expect(grant?.state).toBe(auth.AllowedGrantState.ALLOWED_GRANT_STATE_ENDED)
    expect(told.at(-1)).toEqual({ kind: 'grant', grantId })
    expect(await server.reserve(token)).toEqual({ refused: 'INACTIVE_TOKEN' })
    expect(await server.introspect(token)).toMatchObject({ status: auth.TokenStatus.TOKEN_STATUS_INACTIVE })
    await server.settle(payment.paymentId, 100n, 100n)
    expect(await change('stopGrant', grantId)).toEqual({ grant })
    expect((await read(grantId)).acts).toMatchObject([{ kind: auth.GrantActKind.GRANT_ACT_KIND_STOPPED }])
    expect(await refusalOf(lowerTo(grantId, 1n))).toBe('FAILED_PRECONDITION grant_id')
    expect(await audit()).toEqual([])
  })

  it('is stopped once, by whoever comes first, and nothing is reserved after the answer', async () => {
    const { grantId, token } = await monthly()
    const reserving = Array.from({ length: 10 }, () => server.reserve(token, { debit: usd(10n) }))
    await Promise.all([change('stopGrant', grantId), change('stopGrant', grantId), ...reserving])
    expect(await server.reserve(token)).toEqual({ refused: 'INACTIVE_TOKEN' })
    expect((await read(grantId)).acts).toHaveLength(1)
    expect(await audit()).toEqual([])
  })
})

describe('whose grants they are', () => {
  it('refuses everybody but the account holder of its wallet address', async () => {
    const { grantId } = await monthly()
    const acting = { holder: HOLDER, walletAddresses: [BOB] }
    for (const method of ['pauseGrant', 'resumeGrant', 'stopGrant'] as const)
      expect(await refusalOf(change(method, grantId, acting))).toBe('NOT_FOUND grant_id')
    expect(await refusalOf(read(grantId, acting))).toBe('NOT_FOUND grant_id')
    expect((await list({ acting })).grants).toEqual([])
  })

  it('lets whoever holds the wallet now restrict what somebody else consented to, and never resume it', async () => {
    const grant = await monthly()
    const { grantId } = grant
    await server.prove(grant, { ...HOLDER, sub: 'the-holder-before' }, {})
    const { grants } = await list()
    expect(grants.find((each) => each.grantId === grantId)).toMatchObject({ isConsentOfAnother: true })
    expect((await lowerTo(grantId, 500n)).grant).toMatchObject({ isConsentOfAnother: true })
    await change('pauseGrant', grantId)
    expect(await refusalOf(change('resumeGrant', grantId))).toBe('PERMISSION_DENIED grant_id')
    const { grant: paused, acts } = await read(grantId)
    expect(paused?.state).toBe(auth.AllowedGrantState.ALLOWED_GRANT_STATE_PAUSED)
    expect(acts).toMatchObject([{ holder: HOLDER }, { holder: HOLDER }])
    await change('stopGrant', grantId)
    expect((await read(grantId)).grant?.state).toBe(auth.AllowedGrantState.ALLOWED_GRANT_STATE_ENDED)
    const text = 'select sub from consent_record where grant_id = $1'
    expect(await server.database.query(text, [grantId])).toEqual([{ sub: 'the-holder-before' }])
  })

  it('lets the person of its consent record resume it', async () => {
    const grant = await monthly()
    await server.prove(grant, HOLDER, {})
    await change('pauseGrant', grant.grantId)
    const { grant: resumed } = await change('resumeGrant', grant.grantId)
    expect(resumed).toMatchObject({
      isConsentOfAnother: false,
      state: auth.AllowedGrantState.ALLOWED_GRANT_STATE_IN_FORCE
    })
  })

  it('knows no grant that was not consented to', async () => {
    const pending = await server.grant({ access: [spending()], state: 'pending', interaction: 'PENDING' })
    expect(await refusalOf(read(pending.grantId))).toBe('NOT_FOUND grant_id')
  })

  it.each([
    ['no person', { acting: undefined }, 'acting.holder.issuer'],
    ['no sub', { acting: { ...ACTING, holder: { ...HOLDER, sub: '' } } }, 'acting.holder.sub'],
    ['no wallet address', { acting: { holder: HOLDER, walletAddresses: [] } }, 'acting.wallet_addresses'],
    [
      'a wallet address that is none',
      { acting: { holder: HOLDER, walletAddresses: ['x'] } },
      'acting.wallet_addresses[0]'
    ],
    ['a state that is none', { state: auth.AllowedGrantState.UNRECOGNIZED }, 'state'],
    ['a page token that is none', { pageToken: 'eA' }, 'page_token']
  ])('refuses %s', async (_what, request, field) => {
    expect(await refusalOf(list(request))).toBe(`INVALID_ARGUMENT ${field}`)
  })
})

describe('the list', () => {
  it('has the grants of several wallet addresses, newest first, by page and state', async () => {
    const [CAROL, DORA] = ['https://wallet.example/carol', 'https://wallet.example/dora']
    const written: string[] = []
    for (const walletAddress of [CAROL, DORA, CAROL, DORA, CAROL]) {
      server.clock.advanceSeconds(0.005)
      written.unshift((await server.grant({ access: [spending(undefined, walletAddress)] })).grantId)
    }
    const acting = { holder: HOLDER, walletAddresses: [CAROL, DORA, CAROL] }
    const found: string[] = []
    let pageToken = ''
    do {
      const page = await list({ acting, pageSize: 2, pageToken })
      found.push(...page.grants.map(({ grantId }) => grantId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(found).toEqual(written)
    const [first = '', second = ''] = written
    await change('pauseGrant', first, acting)
    await change('stopGrant', second, acting)
    const inState = async (state: auth.AllowedGrantState) =>
      (await list({ acting, state })).grants.map(({ grantId }) => grantId)
    expect(await inState(auth.AllowedGrantState.ALLOWED_GRANT_STATE_PAUSED)).toEqual([first])
    expect(await inState(auth.AllowedGrantState.ALLOWED_GRANT_STATE_ENDED)).toEqual([second])
    expect(await inState(auth.AllowedGrantState.ALLOWED_GRANT_STATE_IN_FORCE)).toEqual(written.slice(2))
  })

  it('says when a grant was last used, and what is spent in the interval that runs', async () => {
    const { grantId, token } = await monthly()
    expect((await read(grantId)).grant).toMatchObject({ lastUseTime: undefined })
    const usedAt = new Date(server.clock.now())
    await server.reserve(token, { receive: eur(90n) })
    expect((await read(grantId)).grant).toMatchObject({
      lastUseTime: usedAt,
      access: [{ spentDebitAmount: amount(100n), spentReceiveAmount: amount(90n, 'EUR') }]
    })
  })
})

it('an act never changes', async () => {
  const { grantId } = await monthly()
  await change('pauseGrant', grantId)
  for (const statement of [`update grant_act set sub = 'x'`, 'delete from grant_act'])
    await expect(server.database.query(statement)).rejects.toThrow('a grant act never changes')
})
