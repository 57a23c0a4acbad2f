import { describe, expect, it } from '@jest/globals'
import type { PeerEntryKind, PeerStatementEntry } from './peer-statement.js'
import { reconcile, type ReconciledStatements } from './reconcile.js'
import type { DayBook } from './reconcile-balances.js'

const [BEFORE, DAY, AFTER] = ['2026-11-23', '2026-11-24', '2026-11-25'] as const

function entry(
  kind: PeerEntryKind,
  identifier: string,
  value: bigint,
  time = `${DAY}T12:00:00Z`
): PeerStatementEntry {
  return { kind, identifier, value, bookedAt: new Date(time), payment: undefined }
}

const ZERO = { receivable: 0n, payable: 0n }

/** A day that began and ended with nothing owed. */
function on(date: string, ...entries: PeerStatementEntry[]): DayBook[] {
  return [{ date, isComplete: true, opening: ZERO, closing: ZERO, entries }]
}

/** What entries are compared as: balances are compared elsewhere. */
function compare(compared: Partial<ReconciledStatements>) {
  const { matchedCount, differences, notes } = reconcile({
    ours: [],
    oursNearby: [],
    theirs: [],
    ...compared
  })
  return { matchedCount, differences, notes }
}

/** What the differences say, in short. */
function differencesOf(compared: Partial<ReconciledStatements>) {
  return compare(compared).differences.map(({ kind, entryKind, identifier, ours, theirs }) => [
    kind,
    entryKind,
    identifier,
    ours?.value,
    theirs?.value
  ])
}

describe('what both sides booked', () => {
  it.each<[PeerEntryKind, PeerEntryKind]>([
    ['received', 'sent'],
    ['sent', 'received'],
    ['settlement_received', 'settlement_sent'],
    ['settlement_sent', 'settlement_received']
  ])('matches as %s with us and %s with them', (ours, theirs) => {
    const compared = { ours: on(DAY, entry(ours, 'a', 5n)), theirs: on(DAY, entry(theirs, 'a', 5n)) }
    expect(compare(compared)).toEqual({ matchedCount: 1, differences: [], notes: [] })
  })

  it('does not match where both say that they received it', () => {
    const compared = {
      ours: on(DAY, entry('received', 'a', 5n)),
      theirs: on(DAY, entry('received', 'a', 5n))
    }
    expect(differencesOf(compared)).toEqual([
      ['packet_only_ours', 'received', 'a', 5n, undefined],
      ['packet_only_theirs', 'sent', 'a', undefined, 5n]
    ])
  })

  it('does not confuse a settlement with a packet', () => {
    const compared = {
      ours: on(DAY, entry('settlement_received', 'a', 5n)),
      theirs: on(DAY, entry('sent', 'a', 5n))
    }
    expect(compare(compared)).toMatchObject({
      matchedCount: 0,
      differences: [{ kind: 'settlement_only_ours' }, { kind: 'packet_only_theirs' }]
    })
  })

  it('may be nothing', () => {
    expect(compare({ ours: on(DAY), theirs: on(DAY) })).toEqual({
      matchedCount: 0,
      differences: [],
      notes: []
    })
  })
})

describe('a difference', () => {
  it('is a packet of one side, in the order of booking', () => {
    const compared = {
      ours: on(
        DAY,
        entry('received', 'late', 1n, `${DAY}T20:00:00Z`),
        entry('received', 'both', 2n),
        entry('received', 'early', 3n, `${DAY}T01:00:00Z`)
      ),
      theirs: on(DAY, entry('sent', 'both', 2n), entry('sent', 'noon', 4n))
    }
    expect(differencesOf(compared)).toEqual([
      ['packet_only_ours', 'received', 'early', 3n, undefined],
      ['packet_only_theirs', 'received', 'noon', undefined, 4n],
      ['packet_only_ours', 'received', 'late', 1n, undefined]
    ])
    expect(compare(compared).matchedCount).toBe(1)
  })

  it('is the value of a packet, which counts as no match', () => {
    const compared = {
      ours: on(DAY, entry('received', 'a', 5n)),
      theirs: on(DAY, entry('sent', 'a', 18_446_744_073_709_551_615n))
    }
    expect(differencesOf(compared)).toEqual([
      ['value_differs', 'received', 'a', 5n, 18_446_744_073_709_551_615n]
    ])
    expect(compare(compared).matchedCount).toBe(0)
  })

  it('is a settlement of one side, also where only its value differs', () => {
    const compared = {
      ours: on(DAY, entry('settlement_received', 'INV 7', 500n)),
      theirs: on(DAY, entry('settlement_sent', 'INV 7', 501n))
    }
    expect(differencesOf(compared)).toEqual([
      ['settlement_only_ours', 'settlement_received', 'INV 7', 500n, undefined],
      ['settlement_only_theirs', 'settlement_received', 'INV 7', undefined, 501n]
    ])
  })

  it('is each entry that a side booked once more than the other', () => {
    const compared = {
      ours: on(DAY, entry('received', 'a', 5n), entry('received', 'a', 5n)),
      theirs: on(DAY, entry('sent', 'a', 5n))
    }
    expect(compare(compared).matchedCount).toBe(1)
    expect(differencesOf(compared)).toEqual([['packet_only_ours', 'received', 'a', 5n, undefined]])
    const settlement = entry('settlement_sent', 'monthly', 9n)
    const theirs = entry('settlement_received', 'monthly', 9n)
    expect(
      compare({ ours: on(DAY, settlement), theirs: on(DAY, theirs, theirs, theirs) }).differences
    ).toHaveLength(2)
  })

  it('is told of the value only where no other entry has the same one', () => {
    const compared = {
      ours: on(DAY, entry('received', 'a', 1n), entry('received', 'a', 2n)),
      theirs: on(DAY, entry('sent', 'a', 2n), entry('sent', 'a', 3n))
    }
    expect(compare(compared).matchedCount).toBe(1)
    expect(differencesOf(compared)).toEqual([['value_differs', 'received', 'a', 1n, 3n]])
  })
})

describe('the days', () => {
  it('differ around midnight, which is no difference but is noted', () => {
    const compared = {
      ours: on(DAY),
      oursNearby: [
        ...on(BEFORE, entry('received', 'a', 5n, `${BEFORE}T23:59:59.990Z`)),
        ...on(AFTER, entry('settlement_received', 'INV 7', 6n, `${AFTER}T00:00:00Z`))
      ],
      theirs: on(
        DAY,
        entry('sent', 'a', 5n, `${DAY}T00:04:59Z`),
        entry('settlement_sent', 'INV 7', 6n, `${DAY}T23:55:00Z`)
      )
    }
    expect(compare(compared)).toEqual({
      matchedCount: 2,
      differences: [],
      notes: [
        { entryKind: 'received', identifier: 'a', oursDate: BEFORE, theirsDate: DAY },
        { entryKind: 'settlement_received', identifier: 'INV 7', oursDate: AFTER, theirsDate: DAY }
      ]
    })
  })

  it.each([
    ['of theirs', `${BEFORE}T23:59:59.990Z`, `${DAY}T00:05:01Z`],
    ['of ours', `${BEFORE}T23:54:59Z`, `${DAY}T00:00:00Z`]
  ])(
    'differ by no more than minutes where their statement of the other day is not there: %s',
    (_whose, ours, theirs) => {
      const nearby = entry('received', 'a', 5n, ours)
      const listed = on(DAY, entry('sent', 'a', 5n, theirs))
      expect(compare({ ours: on(DAY), oursNearby: on(BEFORE, nearby), theirs: listed })).toMatchObject({
        matchedCount: 0,
        differences: [{ kind: 'packet_only_theirs' }],
        notes: []
      })
      // If it is there, and does not have it, they booked it late.
      const both = { ours: [...on(BEFORE, nearby), ...on(DAY)], theirs: [...on(BEFORE), ...listed] }
      expect(compare(both)).toMatchObject({ matchedCount: 1, differences: [], notes: [{}] })
      // If it has it, they booked it twice.
      const twice = { ...both, theirs: [...on(BEFORE, entry('sent', 'a', 5n, ours)), ...listed] }
      expect(compare(twice)).toMatchObject({
        matchedCount: 1,
        differences: [{ kind: 'packet_only_theirs' }],
        notes: []
      })
    }
  )

  it('around are not missed in the statements of the others', () => {
    const compared = { ours: on(DAY), oursNearby: on(BEFORE, entry('received', 'a', 5n)), theirs: on(DAY) }
    expect(compare(compared)).toEqual({ matchedCount: 0, differences: [], notes: [] })
  })

  it('that are compared match across each other', () => {
    const compared = {
      ours: [...on(DAY, entry('received', 'a', 5n)), ...on(AFTER, entry('received', 'b', 6n))],
      theirs: [...on(DAY, entry('sent', 'b', 6n)), ...on(AFTER, entry('sent', 'a', 5n))]
    }
    expect(compare(compared)).toMatchObject({ matchedCount: 2, differences: [], notes: [{}, {}] })
  })

  it('are noted together with another value', () => {
    const compared = {
      oursNearby: on(BEFORE, entry('received', 'a', 5n, `${BEFORE}T23:59:00Z`)),
      theirs: on(DAY, entry('sent', 'a', 6n, `${DAY}T00:01:00Z`))
    }
    expect(differencesOf(compared)).toEqual([['value_differs', 'received', 'a', 5n, 6n]])
    expect(compare(compared).notes).toMatchObject([{ oursDate: BEFORE, theirsDate: DAY }])
  })

  it('are preferred to be the same, so that what repeats daily is matched on its day', () => {
    const compared = {
      ours: on(DAY, entry('settlement_received', 'daily', 5n)),
      oursNearby: on(BEFORE, entry('settlement_received', 'daily', 5n)),
      theirs: on(DAY, entry('settlement_sent', 'daily', 5n))
    }
    expect(compare(compared)).toEqual({ matchedCount: 1, differences: [], notes: [] })
  })
})

describe('a reference', () => {
  it('that one side booked several settlements with is named, also where both did', () => {
    const ours = entry('settlement_received', 'SEPA 4711', 5n)
    const theirs = entry('settlement_sent', 'SEPA 4711', 5n)
    const repeatedOf = (compared: Partial<ReconciledStatements>) =>
      reconcile({ ours: [], oursNearby: [], theirs: [], ...compared })
    expect(repeatedOf({ ours: on(DAY, ours, ours), theirs: on(DAY, theirs, theirs) })).toMatchObject({
      matchedCount: 2,
      differences: [],
      repeated: (['ours', 'theirs'] as const).map((by) => ({
        by,
        entryKind: 'settlement_received',
        identifier: 'SEPA 4711',
        dates: [DAY, DAY]
      }))
    })
    // Of another value it is the same reference, and on the day before, too.
    const before = on(BEFORE, { ...ours, value: 6n })
    expect(repeatedOf({ ours: on(DAY, ours), oursNearby: before, theirs: on(DAY, theirs) })).toMatchObject({
      repeated: [{ by: 'ours', dates: [BEFORE, DAY] }]
    })
  })

  it('is not repeated by the other direction, by a packet, or by days that are not compared', () => {
    const [received, sent] = [entry('settlement_received', 'a', 5n), entry('settlement_sent', 'a', 5n)]
    const { repeated } = reconcile({
      ours: on(DAY, received, sent, entry('received', 'p', 1n), entry('received', 'p', 1n)),
      oursNearby: on(BEFORE, entry('settlement_sent', 'b', 5n), entry('settlement_sent', 'b', 5n)),
      theirs: []
    })
    expect(repeated).toEqual([])
  })
})
