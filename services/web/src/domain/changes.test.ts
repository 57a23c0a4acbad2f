import { describe, expect, it } from '@jest/globals'
import { applyChanges, changeFields, readChanges } from './changes.js'

const MAX = '18446744073709551615'
const item = (value: string, interval?: string) => ({
  type: 'outgoing-payment',
  actions: ['create'],
  limits: {
    debitAmount: { value, assetCode: 'EUR', assetScale: 2 },
    ...(interval === undefined ? {} : { interval })
  }
})
const EXPIRES = Date.UTC(2026, 2, 10, 12)
const apply = (fields: Record<string, string>, asked = [item(MAX)], decimalSign: '.' | ',' = '.') =>
  applyChanges(asked, readChanges(Object.entries(fields)), EXPIRES, {
    decimalSign,
    endOfDay: (day) => (/^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) + 86_400_000 : undefined)
  })

describe('changes', () => {
  it.each([
    ['184467440737095516.14', '18446744073709551614'],
    ['0.01', '1'],
    ['7', '700']
  ])('lower an amount to %s, exactly', (text, value) => {
    expect(apply({ 'amount-0': text })).toMatchObject({
      isLess: true,
      items: [{ item: { limits: { debitAmount: { value } } } }]
    })
  })

  it.each(['0', '-1', '184467440737095516.16', '1.001', '1,000.00', 'x', '1e3'])(
    'refuse the amount %s',
    (text) => {
      expect(apply({ 'amount-0': text })).toEqual({ problem: 'amount' })
    }
  )

  it('never take a point for groups of digits, nor the other way round', () => {
    expect(apply({ 'amount-0': '20.00' }, [item(MAX)], ',')).toEqual({ problem: 'amount' })
    expect(apply({ 'amount-0': '20,00' }, [item(MAX)], ',')).toMatchObject({
      items: [{ item: { limits: { debitAmount: { value: '2000' } } } }]
    })
  })

  it.each([
    ['R/2026-01-01T00:00:00Z/P1M', '6', 'R6/2026-01-01T00:00:00Z/P1M'],
    ['R-1/2026-01-01T00:00:00Z/P1M', '1', 'R1/2026-01-01T00:00:00Z/P1M'],
    ['R12/2026-01-01T00:00:00Z/P1M', '11', 'R11/2026-01-01T00:00:00Z/P1M']
  ])('give %s %s repetitions', (interval, times, narrowed) => {
    expect(apply({ 'times-0': times }, [item('100', interval)])).toMatchObject({
      isLess: true,
      items: [{ item: { limits: { interval: narrowed } } }]
    })
  })

  it.each(['0', '13', '-1', '1.5', 'R'])('refuse %s repetitions of 12', (times) => {
    expect(apply({ 'times-0': times }, [item('100', 'R12/2026-01-01T00:00:00Z/P1M')])).toEqual({
      problem: 'times'
    })
  })

  it.each([
    // It is 10 March, in the third interval.
    ['R12/2026-01-01T00:00:00Z/P1M', '2026-05-31', 'R5/2026-01-01T00:00:00Z/P1M'],
    ['R/2026-01-01T00:00:00Z/P1M', '2026-06-15', 'R5/2026-01-01T00:00:00Z/P1M'],
    ['R/2026-01-01T00:00:00Z/P1M', '2026-04-01', 'R3/2026-01-01T00:00:00Z/P1M'],
    ['R12/2026-01-01T00:00:00Z/P1M', '2026-03-20', 'R1/2026-03-01T00:00:00.000Z/2026-03-21T00:00:00.000Z'],
    ['R/2026-04-01T00:00:00Z/P1M', '2026-04-20', 'R1/2026-04-01T00:00:00.000Z/2026-04-21T00:00:00.000Z'],
    [undefined, '2026-04-20', 'R1/2026-03-09T00:00:00.000Z/2026-04-21T00:00:00.000Z']
  ])('end %s on %s', (interval, day, narrowed) => {
    expect(apply({ end: day }, [item('100', interval)])).toMatchObject({
      isLess: true,
      endsAtMs: Date.parse(day) + 86_400_000,
      items: [{ item: { limits: { interval: narrowed } } }]
    })
  })

  it.each([
    ['one that sees what others made', { type: 'outgoing-payment', actions: ['list-all'] }],
    [
      'one whose payee is fixed',
      { ...item('100', 'R12/2026-01-01T00:00:00Z/P1M'), limits: { receiver: 'https://pay.example/1' } }
    ],
    ['one whose last interval is fixed', item('100', 'R12/P1M/2027-01-01T00:00:00Z')]
  ])('end all of it: also %s, of which nothing else changes', (_what, other) => {
    expect(apply({ end: '2026-05-31' }, [item('100'), other as ReturnType<typeof item>])).toMatchObject({
      isLess: true,
      endsAtMs: Date.UTC(2026, 5, 1),
      items: [{ place: 0 }, { place: 1, item: other }]
    })
  })

  it.each([
    ['R12/2026-01-01T00:00:00Z/P1M', '2026-03-09'],
    ['R12/2026-04-01T00:00:00Z/P1M', '2026-03-31'],
    [undefined, '20.04.2026'],
    [undefined, '']
  ])('refuse to end %s on %j', (interval, day) => {
    const expected = day === '' ? { isLess: false } : { problem: 'end' }
    expect(apply({ end: day }, [item('100', interval)])).toMatchObject(expected)
  })

  it('end nothing later than was asked', () => {
    const asked = [item('100', 'R12/2026-01-01T00:00:00Z/P1M')]
    expect(apply({ end: '2027-06-01' }, asked)).toMatchObject({
      isLess: true,
      endsAtMs: Date.UTC(2027, 5, 2),
      items: [{ item: asked[0] }]
    })
    expect(apply({ end: '2026-05-31', 'times-0': '4' }, asked)).toMatchObject({
      items: [{ item: { limits: { interval: 'R4/2026-01-01T00:00:00Z/P1M' } } }]
    })
  })

  it('that change nothing are none', () => {
    const asked = [item('100', 'R12/2026-01-01T00:00:00Z/P1M')]
    expect(apply({ 'amount-0': '1.00', 'times-0': '12', 'amount-7': '1' }, asked)).toEqual({
      isLess: false,
      endsAtMs: undefined,
      items: [{ place: 0, item: asked[0] }]
    })
  })

  it('leave out items, but not all', () => {
    const asked = [item('100'), item('200')]
    expect(apply({ 'without-0': 'on' }, asked)).toEqual({
      isLess: true,
      endsAtMs: undefined,
      items: [{ place: 1, item: asked[1] }]
    })
    expect(apply({ 'without-0': 'on', 'without-1': 'on' }, asked)).toEqual({ problem: 'nothing' })
  })

  it('are read from the fields that they are written to', () => {
    const changes = readChanges(
      Object.entries({ 'amount-0': '1', 'times-3': '2', end: 'x', 'without-12': 'on', other: 'x' })
    )
    expect(readChanges(changeFields(changes))).toEqual(changes)
    expect(changeFields(changes)).toHaveLength(4)
  })
})
