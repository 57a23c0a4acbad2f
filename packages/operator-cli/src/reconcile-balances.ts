import type { PeerBalance, PeerEntryKind, PeerStatement, PeerStatementEntry } from './peer-statement.js'

/** A day of one side: what was owed when it began and ended, and what changed it. */
export type DayBook = Pick<PeerStatement, 'date' | 'isComplete' | 'opening' | 'closing' | 'entries'>

/** An entry that the two sides booked on different days, as one of this side. */
export interface MovedEntry {
  readonly entryKind: PeerEntryKind
  readonly ours: { readonly date: string; readonly value: bigint }
  readonly theirs: { readonly date: string; readonly value: bigint }
}

/** A balance of the other side that is not what it must be. */
export interface BalanceDifference {
  /** Day in UTC. */
  readonly date: string
  /** Whether it is that with which the day began, or ended. */
  readonly moment: 'opening' | 'closing'
  /** What the peer owes, or is owed: as this side sees it. */
  readonly balance: keyof PeerBalance
  /** What it must be. */
  readonly expected: bigint
  /** Why: by the books of this side, or by what their own statement has before it. */
  readonly by: 'ours' | 'their_entries'
  readonly theirs: bigint
}

const BALANCES = ['receivable', 'payable'] as const

/** What an entry of a side changes for it. */
const CHANGES: Readonly<
  Record<PeerEntryKind, { readonly balance: keyof PeerBalance; readonly sign: 1n | -1n }>
> = {
  received: { balance: 'receivable', sign: 1n },
  sent: { balance: 'payable', sign: 1n },
  settlement_received: { balance: 'receivable', sign: -1n },
  settlement_sent: { balance: 'payable', sign: -1n }
}

/**
 * Compares what was owed as days began and ended. Theirs must be ours, but for entries that are on the other side of midnight there, and each
 * of their days must end with what it began with and what they booked. What is not over on a side is not compared.
 *
 * @param ours the days of theirs
 */
export function compareBalances(
  ours: readonly DayBook[],
  theirs: readonly DayBook[],
  moved: readonly MovedEntry[]
): readonly BalanceDifference[] {
  const found: BalanceDifference[] = []
  for (const day of theirs) {
    const own = ours.find(({ date }) => date === day.date)
    if (own === undefined) continue
    const before = found.filter(({ date, moment }) => moment === 'closing' && date === dayBefore(day.date))
    for (const balance of BALANCES) {
      const opening = openingDifference(own, day, { balance, moved })
      // It is what the day before ended with.
      const isKnown = before.some(
        (other) => other.balance === balance && opening && shortOf(other) === shortOf(opening)
      )
      if (opening !== undefined && !isKnown) found.push(opening)
      const closing = closingDifference(own, day, { balance, moved })
      if (closing !== undefined) found.push(closing)
    }
  }
  return found
}

interface Compared {
  readonly balance: keyof PeerBalance
  readonly moved: readonly MovedEntry[]
}

function openingDifference(
  ours: DayBook,
  day: DayBook,
  { balance, moved }: Compared
): BalanceDifference | undefined {
  const { date } = day
  const expected = ours.opening[balance] + movedBy(moved, balance, (booked) => booked < date)
  const theirs = mirrored(day.opening)[balance]
  return theirs === expected ? undefined : { date, moment: 'opening', balance, expected, by: 'ours', theirs }
}

function closingDifference(
  ours: DayBook,
  day: DayBook,
  { balance, moved }: Compared
): BalanceDifference | undefined {
  if (!day.isComplete) return undefined
  const { date } = day
  const theirs = mirrored(day.closing)[balance]
  const expected = ours.closing[balance] + movedBy(moved, balance, (booked) => booked <= date)
  const difference = { date, moment: 'closing', balance, theirs } as const
  if (ours.isComplete && theirs !== expected) return { ...difference, expected, by: 'ours' }
  const sum = mirrored(day.opening)[balance] + changeOf(day.entries, balance)
  return theirs === sum ? undefined : { ...difference, expected: sum, by: 'their_entries' }
}

function shortOf({ expected, theirs }: BalanceDifference): bigint {
  return expected - theirs
}

/** What their entries change of a balance, as this side sees it. */
function changeOf(entries: readonly PeerStatementEntry[], balance: keyof PeerBalance): bigint {
  return entries.reduce((sum, { kind, value }) => {
    const { balance: changed, sign } = CHANGES[kind]
    return changed === balance ? sum : sum + sign * value
  }, 0n)
}

/**
 * By how much theirs differs from ours at an instant for entries that only one side had booked by then.
 *
 * @param isBefore whether what was booked on a day was booked by then
 */
function movedBy(
  moved: readonly MovedEntry[],
  balance: keyof PeerBalance,
  isBefore: (date: string) => boolean
): bigint {
  return moved.reduce((sum, { entryKind, ours, theirs }) => {
    const { balance: changed, sign } = CHANGES[entryKind]
    const [isOurs, isTheirs] = [isBefore(ours.date), isBefore(theirs.date)]
    if (changed !== balance || isOurs === isTheirs) return sum
    return isTheirs ? sum + sign * theirs.value : sum - sign * ours.value
  }, 0n)
}

/** What they are owed we owe. */
function mirrored({ receivable, payable }: PeerBalance): PeerBalance {
  return { receivable: payable, payable: receivable }
}

function dayBefore(date: string): string {
  const day = new Date(`${date}T00:00:00Z`)
  day.setUTCDate(day.getUTCDate() - 1)
  return day.toISOString().slice(0, 10)
}
