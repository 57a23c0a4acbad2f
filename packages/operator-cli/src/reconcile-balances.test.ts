import { describe, expect, it } from '@jest/globals'
import type { PeerBalance, PeerEntryKind } from './peer-statement.js'
import { compareBalances, type DayBook, type MovedEntry } from './reconcile-balances.js'

const [BEFORE, DAY, AFTER] = ['2026-11-23', '2026-11-24', '2026-11-25'] as const

type Entries = readonly (readonly [PeerEntryKind, bigint])[]

/** A day that adds up, unless its end is given. */
function day(
  date: string,
  opening: PeerBalance,
  entries: Entries,
  more: Partial<Pick<DayBook, 'closing' | 'isComplete'>> = {}
): DayBook {
  const sumOf = (one: PeerEntryKind): bigint =>
    entries.reduce((sum, [kind, value]) => (kind === one ? sum + value : sum), 0n)
  return {
    date,
    isComplete: true,
    opening,
    closing: {
      receivable: opening.receivable + sumOf('received') - sumOf('settlement_received'),
      payable: opening.payable + sumOf('sent') - sumOf('settlement_sent')
    },
    entries: entries.map(([kind, value]) => ({
      kind,
      value,
      identifier: 'a',
      bookedAt: new Date(`${date}T12:00:00Z`),
      payment: undefined
    })),
    ...more
  }
}

/** What we have, and what they do of the same. */
const OURS: Entries = [
  ['received', 300n],
  ['settlement_received', 120n],
  ['sent', 70n],
  ['settlement_sent', 20n]
]
const THEIRS: Entries = [
  ['sent', 300n],
  ['settlement_sent', 120n],
  ['received', 70n],
  ['settlement_received', 20n]
]
const OPENING = { receivable: 10n, payable: -5n }
const THEIR_OPENING = { receivable: -5n, payable: 10n }
const NONE: Entries = []

/** An entry of 7, moved between days. */
const moved = (entryKind: PeerEntryKind, oursDate: string, theirsDate: string): MovedEntry => ({
  entryKind,
  ours: { date: oursDate, value: 7n },
  theirs: { date: theirsDate, value: 7n }
})

describe('what was owed', () => {
  it('is the same on both sides, whichever side owes it', () => {
    expect(compareBalances([day(DAY, OPENING, OURS)], [day(DAY, THEIR_OPENING, THEIRS)], [])).toEqual([])
  })

  it.each([
    ['receivable', { receivable: 45n, payable: 189n }, 190n, 189n],
    ['payable', { receivable: 46n, payable: 190n }, 45n, 46n]
  ] as const)('differs as the day ended: %s', (balance, closing, expected, theirs) => {
    const given = day(DAY, THEIR_OPENING, THEIRS, { closing })
    const told = { date: DAY, moment: 'closing', balance, expected, theirs }
    expect(compareBalances([day(DAY, OPENING, OURS)], [given], [])).toEqual([{ ...told, by: 'ours' }])
    // Also while the day is not over here.
    const ours = day(DAY, OPENING, NONE, { isComplete: false })
    expect(compareBalances([ours], [given], [])).toEqual([{ ...told, by: 'their_entries' }])
  })

  it('differs as the day began', () => {
    const [ours, theirs] = [day(DAY, OPENING, OURS), day(DAY, { receivable: -5n, payable: 11n }, THEIRS)]
    const told = { date: DAY, balance: 'receivable', by: 'ours' }
    expect(compareBalances([ours], [theirs], [])).toEqual([
      { ...told, moment: 'opening', expected: 10n, theirs: 11n },
      { ...told, moment: 'closing', expected: 190n, theirs: 191n }
    ])
  })

  it('is told once of the end of a day and the beginning of the next', () => {
    const ours = [day(DAY, OPENING, NONE), day(AFTER, OPENING, NONE)]
    const theirs = [
      day(DAY, THEIR_OPENING, [['sent', 1n]]),
      day(AFTER, { receivable: -5n, payable: 11n }, NONE)
    ]
    expect(
      compareBalances(ours, theirs, []).map(({ date, moment, theirs: owed }) => [date, moment, owed])
    ).toEqual([
      [DAY, 'closing', 11n],
      [AFTER, 'closing', 11n]
    ])
    const other = [theirs[0]!, day(AFTER, { receivable: -5n, payable: 12n }, NONE)]
    expect(compareBalances(ours, other, [])).toContainEqual(
      expect.objectContaining({ date: AFTER, moment: 'opening', theirs: 12n })
    )
  })

  it('is not compared at the end of a day that was not over for them', () => {
    const their = day(DAY, THEIR_OPENING, NONE, {
      isComplete: false,
      closing: { receivable: 0n, payable: 0n }
    })
    expect(compareBalances([day(DAY, OPENING, OURS)], [their], [])).toEqual([])
  })
})

describe('an entry on the other side of midnight', () => {
  const withMore = (balance: PeerBalance, more: Partial<PeerBalance>): PeerBalance => ({
    receivable: balance.receivable + (more.receivable ?? 0n),
    payable: balance.payable + (more.payable ?? 0n)
  })

  it.each<[PeerEntryKind, PeerEntryKind, Partial<PeerBalance>]>([
    ['received', 'sent', { receivable: 7n }],
    ['settlement_received', 'settlement_sent', { receivable: -7n }],
    ['sent', 'received', { payable: 7n }],
    ['settlement_sent', 'settlement_received', { payable: -7n }]
  ])('is expected in the balances of one side alone: %s', (kind, theirKind, change) => {
    // Booked before the day with us, and on it with them.
    const ours = day(DAY, withMore(OPENING, change), NONE)
    const theirs = day(DAY, THEIR_OPENING, [[theirKind, 7n]])
    expect(compareBalances([ours], [theirs], [moved(kind, BEFORE, DAY)])).toEqual([])
    expect(compareBalances([ours], [theirs], [])).toHaveLength(1)
    // On the day with us, and after it with them.
    const [our, their] = [day(DAY, OPENING, [[kind, 7n]]), day(DAY, THEIR_OPENING, NONE)]
    expect(compareBalances([our], [their], [moved(kind, DAY, AFTER)])).toEqual([])
    // After the day with us, and on it with them.
    const [late, early] = [day(DAY, OPENING, NONE), day(DAY, THEIR_OPENING, [[theirKind, 7n]])]
    expect(compareBalances([late], [early], [moved(kind, AFTER, DAY)])).toEqual([])
    expect(compareBalances([late], [early], [])).toHaveLength(1)
  })
})
