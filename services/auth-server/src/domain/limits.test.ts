import { describe, expect, it } from '@jest/globals'
import { parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import { coverPayment, currentWindows, type PaymentContent } from './limits.js'
import type { GrantedAccessItem } from './token-record.js'

const ALICE = 'https://wallet.example/alice'
const RECEIVER = 'https://wallet.example/incoming-payments/1'
const usd = (value: bigint) => ({ value, asset: { code: 'USD', scale: 2 } })
const eur = (value: bigint) => ({ value, asset: { code: 'EUR', scale: 2 } })
const nowMs = Date.parse('2026-06-15T12:00:00Z')

const payment: PaymentContent = {
  tokenHash: Buffer.alloc(32, 1),
  walletAddress: ALICE,
  receiver: RECEIVER,
  debitAmount: usd(100n),
  receiveAmount: eur(90n),
  requestHash: Buffer.alloc(32, 3)
}

function item(id: string, limits?: GrantedAccessItem['limits'], identifier = ALICE): GrantedAccessItem {
  const interval = limits?.interval === undefined ? undefined : parseRepeatingInterval(limits.interval)
  return { id, type: 'outgoing-payment', actions: ['create'], identifier, limits, interval }
}

const cover = (...items: GrantedAccessItem[]) => coverPayment(items, payment, nowMs)
const MONTHLY = 'R/2026-01-01T00:00:00Z/P1M'
const LAST_YEAR = 'R12/2025-01-01T00:00:00Z/P1M'

describe('which access items cover a payment', () => {
  it('are those that allow it, in the order of the grant, each in its current interval', () => {
    const { candidates } = cover(
      item('any'),
      item('monthly', { interval: MONTHLY, debitAmount: usd(1n) }),
      item('other wallet', {}, `${ALICE}2`),
      item('other receiver', { receiver: `${RECEIVER}2` }),
      item('this receiver', { receiver: RECEIVER, receiveAmount: eur(1n) })
    )
    expect(candidates).toEqual([
      { accessItemId: 'any', intervalIndex: 0n },
      { accessItemId: 'monthly', intervalIndex: 5n },
      { accessItemId: 'this receiver', intervalIndex: 0n }
    ])
  })

  it('are not those of another type, without the action, or with a longer or shorter address', () => {
    const reading = { ...item('reading'), actions: ['read', 'list'] }
    const incoming = { ...item('incoming'), type: 'incoming-payment' as const }
    expect(cover(reading, incoming, item('a', {}, `${ALICE}/`), item('b', {}, ALICE.slice(0, -1)))).toEqual({
      candidates: [],
      allowing: [],
      refusal: 'insufficient-grant'
    })
  })

  it.each([
    ['debit asset', { debitAmount: eur(1_000n) }],
    ['debit scale', { debitAmount: { value: 1_000n, asset: { code: 'USD', scale: 3 } } }],
    ['receive asset', { receiveAmount: usd(1_000n) }],
    ['receiver', { receiver: ALICE }]
  ])('are not those with a limit on another %s', (_what, limits) => {
    expect(cover(item('one', limits))).toEqual({ candidates: [], allowing: [], refusal: 'limit-exceeded' })
  })

  it('are none when all that would allow it are outside their intervals', () => {
    const outside = item('outside', { interval: LAST_YEAR })
    expect(cover(outside)).toEqual({ candidates: [], allowing: [outside], refusal: 'outside-interval' })
    expect(cover(outside, item('other', { receiver: ALICE })).refusal).toBe('outside-interval')
    expect(cover(outside, item('inside')).candidates).toEqual([{ accessItemId: 'inside', intervalIndex: 0n }])
  })

  it('says that the limits are exceeded when none of the candidates turns out to have room', () => {
    expect(cover(item('inside')).refusal).toBe('limit-exceeded')
  })
})

describe('the windows of an instant', () => {
  it('begin with the interval and end before the next', () => {
    const items = [item('one', { interval: 'R2/2026-01-01T00:00:00Z/P1D' })]
    const at = (instant: string) => currentWindows(items, Date.parse(instant)).map((one) => one.intervalIndex)
    expect(at('2025-12-31T23:59:59.999Z')).toEqual([])
    expect(at('2026-01-01T00:00:00.000Z')).toEqual([0n])
    expect(at('2026-01-01T23:59:59.999Z')).toEqual([0n])
    expect(at('2026-01-02T00:00:00.000Z')).toEqual([1n])
    expect(at('2026-01-03T00:00:00.000Z')).toEqual([])
  })
})
