import { randomUUID } from 'node:crypto'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ALICE, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld
/** Ids of outgoing payments of 1 to 3, the newest first. */
const ids: string[] = []
let receiverId: string

beforeAll(async () => {
  world = await startPaymentWorld()
  const receiver = await world.createReceiver({ incomingAmount: usd(100) })
  receiverId = receiver.slice(-36)
  for (let value = 1; value <= 3; value += 1) {
    const url = (await world.pay(receiver, value)).textAt('id')
    await world.whenEnded(url)
    ids.unshift(url.slice(-36))
    world.clock.advanceSeconds(60)
  }
})
afterAll(() => world.stop())

const OUTGOING = wallet.PaymentKind.PAYMENT_KIND_OUTGOING
const list = (request: Partial<wallet.ListPaymentsRequest>) =>
  world.operate('listPayments', wallet.ListPaymentsRequest.fromPartial({ kind: OUTGOING, ...request }))
const listed = async (request: Partial<wallet.ListPaymentsRequest>): Promise<string[]> =>
  (await list(request)).payments.map(({ paymentId }) => paymentId)
const refusedFor = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call
    return 'nothing'
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return `${status[error.code]} ${error.field ?? ''}`
  }
}

describe('payments are found', () => {
  it('by amount, state and client, alone and of a wallet address', async () => {
    const client = (await list({})).payments[0]?.client ?? ''
    for (const walletAddress of ['', ALICE]) {
      expect(await listed({ walletAddress, value: '2' })).toEqual([ids[1]])
      expect(await listed({ walletAddress, value: '4' })).toEqual([])
      expect(await listed({ walletAddress, state: 'completed' })).toEqual(ids)
      expect(await listed({ walletAddress, state: 'failed' })).toEqual([])
      expect(await listed({ walletAddress, client })).toEqual(ids)
      expect(await listed({ walletAddress, client: 'https://nobody.test/' })).toEqual([])
      expect(await listed({ walletAddress, client, state: 'completed', value: '3' })).toEqual([ids[0]])
    }
    const incoming = wallet.PaymentKind.PAYMENT_KIND_INCOMING
    expect(await listed({ kind: incoming, value: '100', state: 'pending' })).toEqual([receiverId])
    expect(await listed({ kind: incoming, state: 'expired' })).toEqual([])
  })

  it('by time, from an instant on and before another', async () => {
    const created = (await list({})).payments.map(({ createTime }) => createTime)
    expect(await listed({ fromTime: created[1] })).toEqual(ids.slice(0, 2))
    expect(await listed({ untilTime: created[1] })).toEqual(ids.slice(2))
    expect(await listed({ fromTime: created[1], untilTime: created[0] })).toEqual([ids[1]])
  })

  it('in pages, whatever is looked for', async () => {
    const first = await list({ state: 'completed', pageSize: 2 })
    expect(first.payments.map(({ paymentId }) => paymentId)).toEqual(ids.slice(0, 2))
    const second = await list({ state: 'completed', pageSize: 2, pageToken: first.nextPageToken })
    expect(second.payments.map(({ paymentId }) => paymentId)).toEqual(ids.slice(2))
    expect(second.nextPageToken).toBe('')
  })

  it('under a grant of a wallet address', async () => {
    const { outgoing } = await world.operate('getPaymentLife', { paymentId: ids[0] ?? '' })
    const grantId = outgoing?.grantId ?? ''
    expect(await listed({ grantId, walletAddress: ALICE })).toContain(ids[0])
    expect(await listed({ grantId: randomUUID(), walletAddress: ALICE })).toEqual([])
  })

  it.each([
    [{ value: '-1' }, 'INVALID_ARGUMENT value'],
    [{ state: 'expired' }, 'INVALID_ARGUMENT state'],
    [{ grantId: randomUUID() }, 'INVALID_ARGUMENT grant_id'],
    [{ grantId: 'x', walletAddress: ALICE }, 'INVALID_ARGUMENT grant_id']
  ])('never with %j', async (wrong, refusal) => {
    expect(await refusedFor(list(wrong))).toBe(refusal)
  })
})

describe('the life of a payment', () => {
  it('has its amounts, its grant, its entries and its outcome', async () => {
    const life = await world.operate('getPaymentLife', { paymentId: ids[0] ?? '' })
    expect(life.payment).toMatchObject({
      state: 'completed',
      value: '3',
      movedValue: '3',
      client: life.client
    })
    expect(life.outgoing).toMatchObject({ receivedValue: '3', feeValue: '0', outcome: 'settle' })
    expect(
      life.entries.map(({ kind, state, debitAccount, creditAccount, postedValue }) => ({
        ...{ kind, state, debitAccount, creditAccount, postedValue }
      }))
    ).toEqual([
      {
        kind: 'payment',
        state: 'posted',
        debitAccount: 'alice',
        creditAccount: 'clearing',
        postedValue: '3'
      },
      { kind: 'delivery', state: 'posted', debitAccount: 'clearing', creditAccount: 'bob', postedValue: '3' }
    ])
  })

  it('of an incoming one has what it was credited with', async () => {
    const life = await world.operate('getPaymentLife', { paymentId: receiverId })
    expect(life.outgoing).toBeUndefined()
    expect(life.payment).toMatchObject({ state: 'pending', value: '100', movedValue: '6' })
    expect(life.entries.map(({ value }) => value)).toEqual(['1', '2', '3'])
  })

  it.each([
    ['x', 'INVALID_ARGUMENT payment_id'],
    [randomUUID(), 'NOT_FOUND payment_id']
  ])('of %s is not there', async (paymentId, refusal) => {
    expect(await refusedFor(world.operate('getPaymentLife', { paymentId }))).toBe(refusal)
  })
})

describe('a statement', () => {
  it('lists what moved the money of an account, newest first, in pages', async () => {
    const entries: wallet.LedgerEntry[] = []
    let pageToken = ''
    do {
      const page = await world.operate('listAccountEntries', { accountName: 'alice', pageSize: 3, pageToken })
      entries.push(...page.entries)
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    // The deposit and the first payment are of one instant.
    expect(entries.map(({ kind }) => kind).sort()).toEqual(['deposit', 'payment', 'payment', 'payment'])
    expect(entries.map(({ createTime }) => createTime?.getTime())).toEqual(
      entries.map(({ createTime }) => createTime?.getTime()).sort((one = 0, other = 0) => other - one)
    )
    expect(new Set(entries.map(({ transferId }) => transferId)).size).toBe(4)
  })

  it.each([
    ['', 'INVALID_ARGUMENT account_name'],
    ['nobody', 'NOT_FOUND account_name']
  ])('of %j is refused', async (accountName, refusal) => {
    const request = { accountName, pageSize: 0, pageToken: '' }
    expect(await refusedFor(world.operate('listAccountEntries', request))).toBe(refusal)
  })
})

describe('wallet addresses', () => {
  it('are those of an account, or the one with a URL', async () => {
    const of = async (request: Partial<wallet.ListWalletAddressesRequest>): Promise<string[]> => {
      const found = await world.operate(
        'listWalletAddresses',
        wallet.ListWalletAddressesRequest.fromPartial(request)
      )
      return found.walletAddresses.map(({ url }) => url)
    }
    expect(await of({ accountName: 'alice' })).toEqual([ALICE])
    expect(await of({ walletAddress: ALICE })).toEqual([ALICE])
    expect(await of({ walletAddress: ALICE, accountName: 'bob' })).toEqual([])
    expect(await of({ walletAddress: 'https://elsewhere.test/alice' })).toEqual([])
  })
})

describe('counts by the hour', () => {
  it('are of every hour that was asked for', async () => {
    const { hours } = await world.operate('countPayments', { hours: 3 })
    expect(hours).toHaveLength(3)
    expect(
      hours.every(
        ({ startTime }) => startTime?.getTime() !== undefined && startTime.getTime() % 3_600_000 === 0
      )
    ).toBe(true)
    expect(await refusedFor(world.operate('countPayments', { hours: 721 }))).toBe('INVALID_ARGUMENT hours')
  })
})
