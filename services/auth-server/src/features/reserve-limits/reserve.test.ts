import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contentHash, hashSecret } from '@open-payments-server/value-types/identifiers'
import { recordStatements } from '@open-payments-server/testing'
import { refuse, type ReservationRequest, reserve } from '../../modules/limits/index.js'
import { ALICE, eur, GrpcFixture, RECEIVER, spending, usd } from '../../../test/support/grpc-fixture.js'

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

const LIMIT_EXCEEDED = { refused: 'LIMIT_EXCEEDED' }
const reserved = (debited: string, received: string) => ({ reserved: [debited, received] })

describe('Reserve: room under the limits', () => {
  it('takes room until a payment would go over the debit limit, and tells what is spent each time', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(250n) })] })
    expect(await auth.reserve(token, { receive: eur(90n) })).toEqual(reserved('100 USD', '90 EUR'))
    expect(await auth.reserve(token, { receive: eur(90n) })).toEqual(reserved('200 USD', '180 EUR'))
    expect(await auth.reserve(token, { receive: eur(90n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(51n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(50n), receive: eur(40n) })).toEqual(
      reserved('250 USD', '220 EUR')
    )
    expect(await auth.reserve(token, { debit: usd(1n) })).toEqual(LIMIT_EXCEEDED)
  })

  it('takes room until a payment would go over the receive limit', async () => {
    const { token } = await auth.grant({ access: [spending({ receiveAmount: eur(150n) })] })
    expect(await auth.reserve(token, { receive: eur(100n) })).toEqual(reserved('100 USD', '100 EUR'))
    expect(await auth.reserve(token, { receive: eur(51n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { receive: eur(50n) })).toEqual(reserved('200 USD', '150 EUR'))
  })

  it('holds both limits when both are given', async () => {
    const limits = { debitAmount: usd(300n), receiveAmount: eur(150n) }
    const { token } = await auth.grant({ access: [spending(limits)] })
    expect(await auth.reserve(token, { debit: usd(301n), receive: eur(1n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(1n), receive: eur(151n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(300n), receive: eur(150n) })).toEqual(
      reserved('300 USD', '150 EUR')
    )
    expect(await auth.reserve(token, { debit: usd(0n), receive: eur(1n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(0n), receive: eur(0n) })).toEqual(
      reserved('300 USD', '150 EUR')
    )
  })

  it('counts a grant without limits, up to the largest amount there is', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const largest = 18_446_744_073_709_551_615n
    expect(await auth.reserve(token, { debit: usd(largest - 1n), receive: usd(5n) })).toEqual(
      reserved('18446744073709551614 USD', '5 USD')
    )
    expect(await auth.reserve(token, { debit: usd(2n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(1n), receive: usd(0n) })).toEqual(
      reserved('18446744073709551615 USD', '5 USD')
    )
  })

  it('refuses another receiver than the limits name', async () => {
    const { token } = await auth.grant({ access: [spending({ receiver: RECEIVER })] })
    expect(await auth.reserve(token, { receiver: `${RECEIVER}0` })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token)).toEqual(reserved('100 USD', '100 USD'))
  })

  it('refuses another asset, or another scale, than the limits are in', async () => {
    const { token } = await auth.grant({
      access: [spending({ debitAmount: usd(1_000n), receiveAmount: eur(1_000n) })]
    })
    const milli = { value: 1n, asset: { code: 'USD', scale: 3 } }
    expect(await auth.reserve(token, { debit: eur(1n), receive: eur(1n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: milli, receive: eur(1n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(1n), receive: usd(1n) })).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token, { debit: usd(1n), receive: eur(1n) })).toEqual(
      reserved('1 USD', '1 EUR')
    )
  })

  it('never adds up two debit assets: the second one gets no room', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    expect(await auth.reserve(token)).toEqual(reserved('100 USD', '100 USD'))
    expect(await auth.reserve(token, { debit: eur(1n) })).toEqual(LIMIT_EXCEEDED)
  })
})

describe('Reserve: which access item covers a payment', () => {
  const INSUFFICIENT_GRANT = { refused: 'INSUFFICIENT_GRANT' }

  it('refuses a token that may not create outgoing payments from this wallet address', async () => {
    const quote = { type: 'quote', actions: ['create'], identifier: ALICE } as const
    const reading = { ...spending(), actions: ['read'] }
    for (const access of [[], [quote], [reading], [spending({}, `${ALICE}/other`)]]) {
      const { token } = await auth.grant({ access })
      expect(await auth.reserve(token)).toEqual(INSUFFICIENT_GRANT)
    }
  })

  it('charges the first item, in order, that has room, and tells the total over all items', async () => {
    const grant = await auth.grant({
      access: [
        spending({ debitAmount: usd(150n) }),
        spending({ receiver: `${RECEIVER}0` }),
        spending({ debitAmount: usd(1_000n) })
      ]
    })
    expect(await auth.reserve(grant.token)).toEqual(reserved('100 USD', '100 USD'))
    expect(await auth.reserve(grant.token)).toEqual(reserved('200 USD', '200 USD'))
    expect(await auth.reserve(grant.token, { debit: usd(50n), receive: usd(7n) })).toEqual(
      reserved('250 USD', '207 USD')
    )
    const windows = await auth.windows()
    const [first, second, third] = grant.itemIds.map((id) => windows[`${id}/0`])
    expect([first, second, third]).toEqual([['150', '107'], undefined, ['100', '100']])
  })

  it('leaves out of the total what another item spent in another asset', async () => {
    const { token } = await auth.grant({
      access: [spending({ receiver: `${RECEIVER}0` }), spending({ receiveAmount: eur(1_000n) })]
    })
    expect(await auth.reserve(token, { receiver: `${RECEIVER}0` })).toEqual(reserved('100 USD', '100 USD'))
    expect(await auth.reserve(token, { receive: eur(80n) })).toEqual(reserved('200 USD', '80 EUR'))
  })
})

describe('Reserve: payments in several receive assets under one limit', () => {
  it('counts all of them as debited, and tells each one what its own asset received', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const inEuro = auth.payment(token, { receive: eur(90n) })
    expect(await auth.reserve(token)).toEqual(reserved('100 USD', '100 USD'))
    expect(await auth.reserveAs(inEuro)).toEqual(reserved('200 USD', '90 EUR'))
    expect(await auth.reserve(token, { receive: eur(80n) })).toEqual(reserved('300 USD', '170 EUR'))
    expect(await auth.reserve(token)).toEqual(reserved('400 USD', '200 USD'))
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['400', '200'])

    expect(await auth.settle(inEuro.paymentId, 60n, 50n)).toBe('OK')
    expect(await auth.reserve(token, { receive: eur(1n) })).toEqual(reserved('460 USD', '131 EUR'))
    expect(await auth.reserveAs(inEuro)).toEqual(reserved('200 USD', '90 EUR'))
    expect(await auth.violations()).toEqual([])
  })

  it('leaves released payments out of what an asset received', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    await auth.reserve(token)
    const inEuro = auth.payment(token, { receive: eur(90n) })
    await auth.reserveAs(inEuro)
    expect(await auth.release(inEuro.paymentId)).toBe('OK')
    expect(await auth.reserve(token, { receive: eur(5n) })).toEqual(reserved('200 USD', '5 EUR'))
  })

  it('adds up when asked again what was not added up before the server died', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    await auth.reserve(token)
    const inEuro = auth.payment(token, { receive: eur(90n) })
    await auth.reserveAs(inEuro)
    await auth.database.query(
      'update reservation set spent_debit_value = null, spent_receive_value = null where payment_id = $1',
      [inEuro.paymentId]
    )
    expect(await auth.reserveAs(inEuro)).toEqual(reserved('200 USD', '90 EUR'))
  })

  it('adds up a payment as it was reserved, though it ended before it was added up', async () => {
    const { token } = await auth.grant({ access: [spending(), spending({ receiver: `${RECEIVER}0` })] })
    await auth.reserve(token)
    for (const [receive, spent] of [
      [usd(90n), reserved('200 USD', '190 USD')],
      [eur(90n), reserved('220 USD', '90 EUR')]
    ] as const) {
      const payment = auth.payment(token, { receive })
      await auth.reserveAs(payment)
      await auth.database.query(
        'update reservation set spent_debit_value = null, spent_receive_value = null where payment_id = $1',
        [payment.paymentId]
      )
      expect(await auth.settle(payment.paymentId, 20n, 10n)).toBe('OK')
      expect(await auth.reserveAs(payment)).toEqual(spent)
    }
    expect(await auth.violations()).toEqual([])
  })
})

describe('Reserve: the token', () => {
  const INACTIVE_TOKEN = { refused: 'INACTIVE_TOKEN' }

  it('refuses a token that was not issued here', async () => {
    expect(await auth.reserve('not a token')).toEqual(INACTIVE_TOKEN)
  })

  it('refuses a token from the instant it expires', async () => {
    const expiresAtMs = auth.clock.now() + 1
    const { token } = await auth.grant({ access: [spending()], expiresAtMs })
    expect(await auth.reserve(token)).toEqual(reserved('100 USD', '100 USD'))
    auth.clock.set(expiresAtMs)
    expect(await auth.reserve(token)).toEqual(INACTIVE_TOKEN)
  })

  it('decides for each payment at its own instant, though another one shares the statement after the token expired', async () => {
    const expiresAtMs = auth.clock.now() + 1
    const { token, grantId, itemIds } = await auth.grant({ access: [spending()], expiresAtMs })
    const window = { accessItemId: String(itemIds[0]), intervalIndex: 0n }
    const requestAt = (nowMs: number): ReservationRequest => {
      const content = {
        tokenHash: hashSecret(token),
        walletAddress: ALICE,
        receiver: RECEIVER,
        debitAmount: usd(1n),
        receiveAmount: usd(1n),
        requestHash: hashSecret('a request')
      }
      return { paymentId: auth.newId(), content, contentHash: contentHash(content, grantId), nowMs }
    }
    const [before, after] = [requestAt(expiresAtMs - 1), requestAt(expiresAtMs)]
    const results = await reserve(
      auth.prisma,
      [before, after].map((request) => ({ request, window, onlyItem: true }))
    )
    expect(results.map(({ kind }) => kind)).toEqual(['reserved', 'none'])
    // What one statement does not reserve because the token expired, the next does not refuse for another reason.
    const refusals = [requestAt(expiresAtMs - 1), after].map((request) => ({
      request,
      reason: 'limit-exceeded' as const,
      candidates: [window]
    }))
    const recorded = await refuse(auth.prisma, refusals)
    expect(recorded.map((one) => typeof one === 'object' && one.refusalReason)).toEqual([
      'limit-exceeded',
      false
    ])
  })

  it('refuses a token that was rotated or revoked, though it is known from before', async () => {
    for (const reason of ['rotated', 'revoked']) {
      const { token, tokenId } = await auth.grant({ access: [spending()] })
      expect(await auth.reserve(token)).toEqual(reserved('100 USD', '100 USD'))
      await auth.database.query('update access_token set ended_at = now(), end_reason = $2 where id = $1', [
        tokenId,
        reason
      ])
      expect(await auth.reserve(token)).toEqual(INACTIVE_TOKEN)
    }
  })

  it('refuses a token whose grant is over', async () => {
    for (const state of ['pending', 'approved', 'rejected', 'revoked'] as const) {
      const { token } = await auth.grant({ access: [spending()], state })
      expect(await auth.reserve(token)).toEqual(INACTIVE_TOKEN)
    }
  })

  it('says that the token is inactive before it says what it would not cover', async () => {
    const { token } = await auth.grant({ access: [], state: 'revoked' })
    expect(await auth.reserve(token)).toEqual(INACTIVE_TOKEN)
  })
})

describe('Reserve: the same payment id again', () => {
  it('answers the same content the same, and takes no more room', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(150n) })] })
    const first = auth.payment(token)
    expect(await auth.reserveAs(first)).toEqual(reserved('100 USD', '100 USD'))
    expect(await auth.reserve(token, { debit: usd(50n) })).toEqual(reserved('150 USD', '200 USD'))
    expect(await auth.reserveAs(first)).toEqual(reserved('100 USD', '100 USD'))
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['150', '200'])
  })

  it('answers the same after the payment was settled, and after its token died', async () => {
    const { token, grantId } = await auth.grant({ access: [spending()] })
    const payment = auth.payment(token)
    await auth.reserveAs(payment)
    await auth.settle(payment.paymentId, 1n, 1n)
    await auth.prisma.grant.update({ where: { id: grantId }, data: { state: 'revoked' } })
    expect(await auth.reserveAs(payment)).toEqual(reserved('100 USD', '100 USD'))
  })

  it('refuses again what was refused, though there is room by now', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const first = auth.payment(token)
    const late = auth.payment(token)
    await auth.reserveAs(first)
    expect(await auth.reserveAs(late)).toEqual(LIMIT_EXCEEDED)
    expect(await auth.release(first.paymentId)).toBe('OK')
    expect(await auth.reserveAs(late)).toEqual(LIMIT_EXCEEDED)
    expect(await auth.reserve(token)).toEqual(reserved('100 USD', '100 USD'))
  })

  it('records why it was refused as other versions read it', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const payment = auth.payment(token, { debit: usd(101n) })
    await auth.reserveAs(payment)
    const recorded = 'select refusal_reason as reason from reservation where payment_id = $1'
    expect(await auth.database.query(recorded, [payment.paymentId])).toEqual([{ reason: 'limit_exceeded' }])
  })

  it('is answered without waiting for the window, whether it was reserved or refused', async () => {
    // There is room for the first once more.
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(250n) })] })
    const [first, second] = [auth.payment(token), auth.payment(token, { debit: usd(200n) })]
    await auth.reserveAs(first)
    await auth.reserveAs(second)
    const holder = await auth.pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select 1 from limit_window where access_item_id = $1 for update', [itemIds[0]])
      expect(await auth.reserveAs(first)).toEqual(reserved('100 USD', '100 USD'))
      expect(await auth.reserveAs(second)).toEqual(LIMIT_EXCEEDED)
    } finally {
      // Closes the connection, and so ends the transaction, in whatever state it is.
      holder.release(true)
    }
  })

  it('refuses again for the same reason a token that did not cover the payment, whatever became of it', async () => {
    const { token, grantId } = await auth.grant({ access: [spending()] })
    const foreign = auth.payment(token, { walletAddress: 'https://wallet.example/bob' })
    expect(await auth.reserveAs(foreign)).toEqual({ refused: 'INSUFFICIENT_GRANT' })
    await auth.prisma.grant.update({ where: { id: grantId }, data: { state: 'revoked' } })
    expect(await auth.reserveAs(foreign)).toEqual({ refused: 'INSUFFICIENT_GRANT' })
  })

  it('is reserved with the new token when it was refused because the one before had been rotated', async () => {
    const { token, itemIds, ...grant } = await auth.grant({ access: [spending()] })
    const payment = auth.payment(token)
    const rotated = await auth.rotate(grant)
    expect(await auth.reserveAs(payment)).toEqual({ refused: 'INACTIVE_TOKEN' })
    expect(await auth.reserveAs(payment)).toEqual({ refused: 'INACTIVE_TOKEN' })
    const repeated = { ...payment, accessToken: rotated }
    expect(await auth.reserveAs(repeated)).toEqual(reserved('100 USD', '100 USD'))
    expect(await auth.reserveAs(repeated)).toEqual(reserved('100 USD', '100 USD'))
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['100', '100'])
  })

  it('is answered the same with either token, when the one that it was reserved with has been rotated since', async () => {
    const { token, itemIds, ...grant } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const [paid, refused] = [auth.payment(token), auth.payment(token)]
    await auth.reserveAs(paid)
    await auth.reserveAs(refused)
    const rotated = await auth.rotate(grant)
    for (const accessToken of [token, rotated]) {
      expect(await auth.reserveAs({ ...paid, accessToken })).toEqual(reserved('100 USD', '100 USD'))
      expect(await auth.reserveAs({ ...refused, accessToken })).toEqual(LIMIT_EXCEEDED)
    }
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['100', '100'])
  })

  it('is ALREADY_EXISTS for any other request, and changes nothing', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const other = await auth.grant({ access: [spending()] })
    const [payment, refused] = [auth.payment(token), auth.payment(token)]
    await auth.reserveAs(payment)
    expect(await auth.reserveAs(refused)).toEqual(LIMIT_EXCEEDED)
    const changed = [
      { accessToken: other.token },
      { walletAddress: `${ALICE}2` },
      { receiver: `${RECEIVER}2` },
      { requestHash: hashSecret('another request') }
    ]
    for (const change of changed) {
      for (const known of [payment, refused]) {
        expect(await auth.reserveAs({ ...known, ...change })).toEqual({
          error: 'ALREADY_EXISTS',
          field: 'payment_id'
        })
      }
    }
    expect(await auth.reserveAs({ ...payment, accessToken: 'unknown' })).toEqual({
      refused: 'INACTIVE_TOKEN'
    })
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['100', '100'])
  })

  it('is ABORTED for other amounts of the same request while it is open, and refused again where it was', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const [payment, refused] = [auth.payment(token), auth.payment(token)]
    await auth.reserveAs(payment)
    await auth.reserveAs(refused)
    const changed = [
      { debitAmount: { value: '101', assetCode: 'USD', assetScale: 2 } },
      { debitAmount: { value: '100', assetCode: 'USD', assetScale: 3 } },
      { receiveAmount: { value: '99', assetCode: 'USD', assetScale: 2 } },
      { receiveAmount: { value: '100', assetCode: 'EUR', assetScale: 2 } }
    ]
    for (const change of changed) {
      expect(await auth.reserveAs({ ...payment, ...change })).toEqual({
        error: 'ABORTED',
        field: 'payment_id'
      })
      expect(await auth.reserveAs({ ...refused, ...change })).toEqual(LIMIT_EXCEEDED)
    }
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['100', '100'])
  })

  it('is refused as released once it was released, whether it was reserved before or not', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const never = auth.payment(token)
    const before = auth.payment(token)
    await auth.reserveAs(before)
    for (const payment of [never, before]) {
      expect(await auth.release(payment.paymentId)).toBe('OK')
      expect(await auth.reserveAs(payment)).toEqual({ refused: 'RELEASED' })
    }
    expect(await auth.violations()).toEqual([])
  })

  it('is ALREADY_EXISTS for any other request after it was released, unless none had reserved it', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const [never, before] = [auth.payment(token), auth.payment(token)]
    await auth.reserveAs(before)
    const askOtherwise = ({ paymentId }: { paymentId: string }) =>
      auth.reserve(token, { paymentId, request: 'another request' })
    for (const payment of [never, before]) expect(await auth.release(payment.paymentId)).toBe('OK')
    expect(await askOtherwise(never)).toEqual({ refused: 'RELEASED' })
    expect(await askOtherwise(before)).toEqual({ error: 'ALREADY_EXISTS', field: 'payment_id' })
    expect(await auth.reserveAs(before)).toEqual({ refused: 'RELEASED' })
  })
})

describe('Reserve: malformed requests', () => {
  const amount = { value: '1', assetCode: 'USD', assetScale: 2 }
  const long = `https://wallet.example/${'a'.repeat(2_048)}`

  it.each([
    ['payment_id', 'none', { paymentId: '' }],
    ['payment_id', 'no UUID', { paymentId: 'not-a-uuid' }],
    ['payment_id', 'upper case', { paymentId: '0190A8B1-0000-7000-8000-000000000001' }],
    ['access_token', 'none', { accessToken: '' }],
    ['wallet_address', 'none', { walletAddress: '' }],
    ['wallet_address', 'too long', { walletAddress: long }],
    ['wallet_address', 'no http URL', { walletAddress: 'ftp://wallet.example/alice' }],
    ['receiver', 'relative', { receiver: 'incoming-payments/1' }],
    ['receiver', 'a NUL', { receiver: `${RECEIVER}\u0000` }],
    ['receiver', 'too long', { receiver: long }],
    ['debit_amount', 'none', { debitAmount: undefined }],
    ['receive_amount', 'none', { receiveAmount: undefined }],
    ['debit_amount.value', 'empty', { debitAmount: { ...amount, value: '' } }],
    ['debit_amount.value', 'signed', { debitAmount: { ...amount, value: '-1' } }],
    ['debit_amount.value', 'leading zero', { debitAmount: { ...amount, value: '01' } }],
    ['debit_amount.value', 'decimals', { debitAmount: { ...amount, value: '1.5' } }],
    ['debit_amount.value', 'beyond 64 bits', { debitAmount: { ...amount, value: '18446744073709551616' } }],
    ['request_hash', 'none', { requestHash: Buffer.alloc(0) }],
    ['request_hash', 'too long', { requestHash: Buffer.alloc(33) }],
    ['receive_amount.value', 'exponent', { receiveAmount: { ...amount, value: '1e3' } }],
    ['receive_amount.asset_code', 'none', { receiveAmount: { ...amount, assetCode: '' } }],
    ['receive_amount.asset_code', 'a NUL', { receiveAmount: { ...amount, assetCode: 'U\u0000' } }],
    ['debit_amount.asset_scale', 'beyond 255', { debitAmount: { ...amount, assetScale: 256 } }]
  ])('are INVALID_ARGUMENT naming %s, and record nothing: %s', async (field, _problem, change) => {
    const { token } = await auth.grant({ access: [spending()] })
    const request = { ...auth.payment(token), ...change }
    expect(await auth.reserveAs(request)).toEqual({ error: 'INVALID_ARGUMENT', field })
    const recorded = await auth.database.query('select 1 from reservation where payment_id::text = $1', [
      request.paymentId.replaceAll('\u0000', '')
    ])
    expect(recorded).toEqual([])
  })
})

describe('Reserve: what a refusal says that remains', () => {
  const nothing = { debit: '0 USD', receive: '0 USD', next: 'never' }
  const left = (debit: string, receive: string) => ({ debit, receive, next: 'never' })

  it('is what one payment may still have of each limit', async () => {
    const limits = { debitAmount: usd(250n), receiveAmount: eur(200n) }
    const { token } = await auth.grant({ access: [spending(limits)] })
    const over = auth.payment(token, { debit: usd(251n), receive: eur(1n) })
    expect(await auth.remaining(over)).toEqual(left('250 USD', '200 EUR'))
    expect(await auth.reserve(token, { receive: eur(90n) })).toEqual(reserved('100 USD', '90 EUR'))
    const second = auth.payment(token, { debit: usd(1n), receive: eur(111n) })
    expect(await auth.remaining(second)).toEqual(left('150 USD', '110 EUR'))
    expect(await auth.reserve(token, { debit: usd(150n), receive: eur(110n) })).toEqual(
      reserved('250 USD', '200 EUR')
    )
  })

  it('is what fits now, for a repeated request that stays refused', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const [paid, refused] = [auth.payment(token), auth.payment(token)]
    await auth.reserveAs(paid)
    expect(await auth.remaining(refused)).toEqual(left('0 USD', 'none'))
    await auth.release(paid.paymentId)
    expect(await auth.remaining(refused)).toEqual(left('100 USD', 'none'))
    expect(await auth.reserveAs(refused)).toEqual(LIMIT_EXCEEDED)
  })

  it('is of the item under which most of the payment fits, as it is charged to one', async () => {
    const { token } = await auth.grant({
      access: [
        spending({ debitAmount: usd(20n) }),
        spending({ receiveAmount: usd(0n) }),
        spending({ receiver: `${RECEIVER}0`, debitAmount: usd(90n) }),
        spending({ debitAmount: usd(80n), receiveAmount: usd(70n) }),
        spending({ debitAmount: usd(70n), receiveAmount: usd(99n) })
      ]
    })
    expect(await auth.remaining(auth.payment(token))).toEqual(left('80 USD', '70 USD'))
    expect(await auth.reserve(token, { debit: usd(80n), receive: usd(70n) })).toHaveProperty('reserved')
    expect(await auth.remaining(auth.payment(token))).toEqual(left('70 USD', '99 USD'))
  })

  it('names an amount without a limit if it is what does not fit', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    await auth.reserve(token, { debit: usd(18_446_744_073_709_551_614n), receive: usd(5n) })
    const over = auth.payment(token, { debit: usd(2n), receive: usd(1n) })
    expect(await auth.remaining(over)).toEqual(left('1 USD', 'none'))
    expect(await auth.remaining(auth.payment(token, { debit: eur(1n) }))).toEqual(left('0 EUR', 'none'))
  })

  it('does not count what was received in another asset', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(150n) })] })
    await auth.reserve(token, { receive: usd(18_446_744_073_709_551_615n) })
    expect(await auth.remaining(auth.payment(token, { receive: eur(1n) }))).toEqual(left('50 USD', 'none'))
  })

  it('is nothing outside every interval, until the next begins', async () => {
    const spendingIn = (interval: string) => spending({ interval, debitAmount: usd(1_000n) })
    const over = await auth.grant({ access: [spendingIn('R1/2025-01-01T00:00:00Z/P1M')] })
    expect(await auth.remaining(auth.payment(over.token))).toEqual(nothing)
    const early = await auth.grant({
      access: [
        spendingIn('R/2026-03-01T00:00:00Z/P1M'),
        spendingIn('R1/2026-02-01T00:00:00Z/P1D'),
        spending({ interval: 'R/2026-01-20T00:00:00Z/P1D', receiver: `${RECEIVER}0` })
      ]
    })
    expect(await auth.remaining(auth.payment(early.token))).toEqual({
      ...nothing,
      next: '2026-02-01T00:00:00.000Z'
    })
  })

  it('says when the next interval begins, and nothing of it in the last one', async () => {
    const interval = 'R2/2026-01-01T00:00:00Z/P1M'
    const { token } = await auth.grant({ access: [spending({ interval, debitAmount: usd(100n) })] })
    await auth.reserve(token, { debit: usd(70n) })
    const january = auth.clock.now()
    const over = auth.payment(token)
    const next = '2026-02-01T00:00:00.000Z'
    expect(await auth.remaining(over)).toEqual({ ...left('30 USD', 'none'), next })
    auth.clock.set(Date.parse(next))
    expect(await auth.remaining(over)).toEqual(left('100 USD', 'none'))
    auth.clock.set(january)
  })

  it('is said to nobody else: another request, an inactive token, a payment that no item allows', async () => {
    const limits = { debitAmount: usd(50n) }
    const { token, ...grant } = await auth.grant({ access: [spending(limits)] })
    const other = await auth.grant({ access: [spending({ debitAmount: usd(1n) })] })
    const over = auth.payment(token)
    expect(await auth.remaining(over)).toEqual(left('50 USD', 'none'))
    expect(await auth.remaining({ ...over, accessToken: other.token })).toBeUndefined()
    for (const options of [
      { walletAddress: `${ALICE}2` },
      { debit: eur(1n) },
      { paymentId: await releasedId() }
    ]) {
      expect(await auth.remaining(auth.payment(token, options))).toBeUndefined()
    }
    const rotated = await auth.rotate(grant)
    expect(await auth.remaining(over)).toBeUndefined()
    expect(await auth.reserveAs(over)).toEqual(LIMIT_EXCEEDED)
    expect(await auth.remaining({ ...over, accessToken: rotated })).toEqual(left('50 USD', 'none'))
  })

  async function releasedId(): Promise<string> {
    const id = auth.newId()
    await auth.release(id)
    return id
  }
})

describe('Reserve: what a refusal says that refuses', () => {
  it('is each limit that a payment exceeds', async () => {
    const limits = { debitAmount: usd(250n), receiveAmount: eur(200n) }
    const { token } = await auth.grant({ access: [spending(limits)] })
    const refusedBy = (debit: bigint, receive: bigint) =>
      auth.refusedBy(auth.payment(token, { debit: usd(debit), receive: eur(receive) }))
    expect(await refusedBy(251n, 200n)).toBe('0: DEBIT_AMOUNT')
    expect(await refusedBy(250n, 201n)).toBe('0: RECEIVE_AMOUNT')
    expect(await refusedBy(251n, 201n)).toBe('0: DEBIT_AMOUNT, RECEIVE_AMOUNT')
  })

  it('is a limit of the item under which most of the payment fits', async () => {
    const reading = { type: 'outgoing-payment', actions: ['read'], identifier: ALICE } as const
    const { token } = await auth.grant({
      access: [reading, spending({ debitAmount: usd(20n) }), spending({ debitAmount: usd(80n) })]
    })
    expect(await auth.refusedBy(auth.payment(token))).toBe('2: DEBIT_AMOUNT')
  })

  it('is the interval, when that is over or has not begun', async () => {
    const item = spending({ interval: 'R1/2025-01-01T00:00:00Z/P1M', debitAmount: usd(1n) })
    const { token } = await auth.grant({ access: [item] })
    expect(await auth.refusedBy(auth.payment(token))).toBe('0: INTERVAL')
  })

  it('is what no amount would meet: the receiver, and the assets of the first item for the wallet address', async () => {
    const { token } = await auth.grant({
      access: [
        spending({ receiver: `${RECEIVER}0`, debitAmount: eur(1n), receiveAmount: eur(1n) }),
        spending({ receiver: `${RECEIVER}1` })
      ]
    })
    expect(await auth.refusedBy(auth.payment(token))).toBe('0: RECEIVER, DEBIT_AMOUNT, RECEIVE_AMOUNT')
  })

  it('is an amount that no limit names, if it is in another asset than what was spent before', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    await auth.reserve(token)
    expect(await auth.refusedBy(auth.payment(token, { debit: eur(1n) }))).toBe('0: DEBIT_AMOUNT')
  })

  it('is nothing for a repeated request that would fit now', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const [paid, refused] = [auth.payment(token), auth.payment(token)]
    await auth.reserveAs(paid)
    expect(await auth.refusedBy(refused)).toBe('0: DEBIT_AMOUNT')
    await auth.release(paid.paymentId)
    expect(await auth.refusedBy(refused)).toBeUndefined()
    expect(await auth.reserveAs(refused)).toEqual(LIMIT_EXCEEDED)
  })

  it('is said to nobody else: another request, an inactive token, another wallet address', async () => {
    const { token, ...grant } = await auth.grant({ access: [spending({ debitAmount: usd(50n) })] })
    const other = await auth.grant({ access: [spending({ debitAmount: usd(1n) })] })
    const over = auth.payment(token)
    expect(await auth.refusedBy(over)).toBe('0: DEBIT_AMOUNT')
    expect(await auth.refusedBy({ ...over, accessToken: other.token })).toBeUndefined()
    expect(await auth.refusedBy(auth.payment(token, { walletAddress: `${ALICE}2` }))).toBeUndefined()
    await auth.rotate(grant)
    expect(await auth.refusedBy(over)).toBeUndefined()
  })
})

describe('Reserve: cost', () => {
  it('is two statements for a payment that is refused, or was: one finds no room, one tells what is recorded and what remains', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    const [paid, refused] = [auth.payment(token), auth.payment(token)]
    await auth.reserveAs(paid)
    const record = recordStatements(auth.pool)
    expect(await auth.remaining(refused)).toBeDefined()
    expect(record.statements).toHaveLength(2)
    expect(await auth.remaining(refused)).toBeDefined()
    expect(record.statements).toHaveLength(4)
    record.stop()
  })

  it('is two statements for several payments of one call that are refused', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    await auth.reserve(token)
    const payments = [auth.payment(token), auth.payment(token), auth.payment(token)]
    const record = recordStatements(auth.pool)
    expect(await auth.reserveMany(payments)).toEqual(payments.map(() => LIMIT_EXCEEDED))
    expect(record.statements).toHaveLength(2)
    record.stop()
  })

  it('is one statement for a token that was seen before, two for a new one', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const record = recordStatements(auth.pool)
    await auth.reserve(token)
    expect(record.statements).toHaveLength(2)
    for (let count = 3; count <= 8; count += 1) {
      expect(await auth.reserve(token)).toHaveProperty('reserved')
      expect(record.statements).toHaveLength(count)
    }
    record.stop()
  })

  it('is one statement for a token that was introspected before', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    await auth.introspect(token)
    const record = recordStatements(auth.pool)
    expect(await auth.reserve(token)).toHaveProperty('reserved')
    expect(record.statements).toHaveLength(1)
    record.stop()
  })
})
