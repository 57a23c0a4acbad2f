import type { PeerEntryKind, PeerStatement, PeerStatementEntry } from './peer-statement.js'
import {
  type BalanceDifference,
  compareBalances,
  type DayBook,
  type MovedEntry
} from './reconcile-balances.js'

/** The entries that a side booked on a day. */
export type DayEntries = Pick<PeerStatement, 'date' | 'entries'>

/** How far from midnight an entry may be, so that the other side may have booked it on the other side of it, in minutes. */
export const MIDNIGHT_MINUTES = 5
const MS_PER_MINUTE = 60_000

/** What is compared. */
export interface ReconciledStatements {
  /** Ours, of the days that are compared. */
  readonly ours: readonly DayBook[]
  /** Ours, of the days around: theirs may match what is near midnight, but none of it is missed. */
  readonly oursNearby: readonly DayEntries[]
  /** Theirs, of the days that are compared, in their order. */
  readonly theirs: readonly DayBook[]
}

/** In what way the two sides differ. */
export type DifferenceKind =
  | 'packet_only_ours'
  | 'packet_only_theirs'
  | 'value_differs'
  | 'settlement_only_ours'
  | 'settlement_only_theirs'

/** A difference between the two sides. */
export interface Difference {
  readonly kind: DifferenceKind
  /** What the entry records, as this side sees it. */
  readonly entryKind: PeerEntryKind
  readonly identifier: string
  /** What this side booked; undefined for nothing. */
  readonly ours: PeerStatementEntry | undefined
  /** What the other side booked; undefined for nothing. */
  readonly theirs: PeerStatementEntry | undefined
}

/** The two sides booked the same on different days. No difference. */
export interface DayNote {
  /** What the entry records, as this side sees it. */
  readonly entryKind: PeerEntryKind
  readonly identifier: string
  /** Day in UTC. */
  readonly oursDate: string
  readonly theirsDate: string
}

/**
 * One side booked several settlements with the same reference. No difference where the other side did, too: then both may have booked one of
 * them twice.
 */
export interface RepeatedReference {
  readonly by: 'ours' | 'theirs'
  /** What the entries record, as this side sees it. */
  readonly entryKind: PeerEntryKind
  readonly identifier: string
  /** Days in UTC, in their order: one for each entry. */
  readonly dates: readonly string[]
}

/** The result of a comparison. */
export interface Reconciliation {
  /** Number of entries that both sides have, with the same value. */
  readonly matchedCount: number
  /** In the order of booking. */
  readonly differences: readonly Difference[]
  /** By day. */
  readonly balances: readonly BalanceDifference[]
  readonly notes: readonly DayNote[]
  readonly repeated: readonly RepeatedReference[]
}

/** What one side books as the first, the other one books as the second. */
const OTHER_SIDE: Readonly<Record<PeerEntryKind, PeerEntryKind>> = {
  received: 'sent',
  sent: 'received',
  settlement_received: 'settlement_sent',
  settlement_sent: 'settlement_received'
}

/** An entry, as one of this side. */
interface Booked {
  readonly entryKind: PeerEntryKind
  readonly entry: PeerStatementEntry
  readonly date: string
  /** Whether the other side's statement of the day is not there. */
  readonly isNearby: boolean
}

interface Pair {
  readonly ours: Booked
  readonly theirs: Booked
}

/** What matched, and what is left of both sides. */
interface Pairing {
  readonly pairs: readonly Pair[]
  readonly ours: readonly Booked[]
  readonly theirs: readonly Booked[]
}

/**
 * Compares what two sides booked. Packets match by their condition, settlements by their reference and value. Where several have
 * the same, those of the same day and value match first. On different days they match where the other side's statement of our day is there, and
 * lacks the entry; otherwise only around midnight: else what is in their statement of a day would match again on the next.
 */
export function reconcile({ ours, oursNearby, theirs }: ReconciledStatements): Reconciliation {
  const [bookedByUs, bookedByThem] = [
    [...bookedOf(ours, (kind) => kind), ...bookedOf(oursNearby, (kind) => kind, true)],
    bookedOf(theirs, (kind) => OTHER_SIDE[kind])
  ]
  const sameDay = pairBy(bookedByUs, bookedByThem, sameDayKey)
  const sameValue = pairBy(sameDay.ours, sameDay.theirs, sameValueKey)
  const others = pairBy(sameValue.ours, sameValue.theirs, identityKey)
  const onlyOurs = others.ours.filter(({ isNearby }) => !isNearby)
  const moved = [...sameValue.pairs, ...others.pairs].filter(isOnAnotherDay)
  return {
    matchedCount: sameDay.pairs.length + sameValue.pairs.length,
    differences: [
      ...others.pairs.map(valueDiffers),
      ...onlyOurs.map((booked) => onlyOneSide('ours', booked)),
      ...others.theirs.map((booked) => onlyOneSide('theirs', booked))
    ].sort((one, other) => bookingTimeMs(one) - bookingTimeMs(other)),
    balances: compareBalances(ours, theirs, moved.map(movedEntry)),
    notes: moved.map(dayNote),
    repeated: [...repeatedOf('ours', bookedByUs), ...repeatedOf('theirs', bookedByThem)]
  }
}

/** The references that one side booked several settlements with, at least one of them on a day that is compared. */
function repeatedOf(by: RepeatedReference['by'], booked: readonly Booked[]): readonly RepeatedReference[] {
  const settlements = booked.filter(({ entryKind }) => isSettlement(entryKind))
  const alike = grouped(settlements, ({ entryKind, entry }) => `${entryKind} ${entry.identifier}`)
  return [...alike.values()].flatMap((some) => {
    const [first] = some
    if (first === undefined || some.length === 1 || some.every(({ isNearby }) => isNearby)) return []
    const { entryKind, entry } = first
    return [{ by, entryKind, identifier: entry.identifier, dates: some.map(({ date }) => date).toSorted() }]
  })
}

/** Whether an entry of this kind is a settlement, and no packet. */
export function isSettlement(kind: PeerEntryKind): boolean {
  return kind === 'settlement_received' || kind === 'settlement_sent'
}

function bookedOf(
  days: readonly DayEntries[],
  asOurs: (kind: PeerEntryKind) => PeerEntryKind,
  isNearby = false
): readonly Booked[] {
  return days.flatMap(({ date, entries }) =>
    entries.map((entry) => ({ entryKind: asOurs(entry.kind), entry, date, isNearby }))
  )
}

/** What makes an entry of one side the same as one of the other, whatever its value if it is a packet. */
function identityKey({ entryKind, entry }: Booked): string {
  return JSON.stringify([entryKind, entry.identifier, isSettlement(entryKind) ? entry.value.toString() : ''])
}

function sameValueKey(booked: Booked): string {
  return `${identityKey(booked)} ${booked.entry.value.toString()}`
}

function sameDayKey(booked: Booked): string {
  return `${sameValueKey(booked)} ${booked.date}`
}

/** Entries by a key, in their order. */
function grouped(
  entries: readonly Booked[],
  keyOf: (booked: Booked) => string
): ReadonlyMap<string, Booked[]> {
  const groups = new Map<string, Booked[]>()
  for (const booked of entries) {
    const key = keyOf(booked)
    const others = groups.get(key)
    if (others === undefined) groups.set(key, [booked])
    else others.push(booked)
  }
  return groups
}

/** Pairs entries with the same key that may be the same, the earlier ones first. */
function pairBy(
  ours: readonly Booked[],
  theirs: readonly Booked[],
  keyOf: (booked: Booked) => string
): Pairing {
  const waiting = grouped(ours, keyOf)
  const pairs: Pair[] = []
  const theirsLeft: Booked[] = []
  for (const booked of theirs) {
    const candidates = waiting.get(keyOf(booked)) ?? []
    const index = candidates.findIndex((candidate) => mayBeSame({ ours: candidate, theirs: booked }))
    const [match] = index === -1 ? [] : candidates.splice(index, 1)
    if (match === undefined) theirsLeft.push(booked)
    else pairs.push({ ours: match, theirs: booked })
  }
  const paired = new Set(pairs.map((pair) => pair.ours))
  return { pairs, ours: ours.filter((booked) => !paired.has(booked)), theirs: theirsLeft }
}

/** Whether the days on which two sides booked something let it be the same. */
function mayBeSame({ ours, theirs }: Pair): boolean {
  if (!ours.isNearby || ours.date === theirs.date) return true
  const midnightMs = Date.parse(`${ours.date < theirs.date ? theirs.date : ours.date}T00:00:00Z`)
  return [ours, theirs].every(
    ({ entry }) => Math.abs(entry.bookedAt.getTime() - midnightMs) <= MIDNIGHT_MINUTES * MS_PER_MINUTE
  )
}

function valueDiffers({ ours, theirs }: Pair): Difference {
  const { entryKind, entry } = ours
  return {
    kind: 'value_differs',
    entryKind,
    identifier: entry.identifier,
    ours: entry,
    theirs: theirs.entry
  }
}

function onlyOneSide(side: 'ours' | 'theirs', { entryKind, entry }: Booked): Difference {
  return {
    kind: `${isSettlement(entryKind) ? 'settlement' : 'packet'}_only_${side}`,
    entryKind,
    identifier: entry.identifier,
    ours: side === 'ours' ? entry : undefined,
    theirs: side === 'theirs' ? entry : undefined
  }
}

function bookingTimeMs({ ours, theirs }: Difference): number {
  return (ours ?? theirs)?.bookedAt.getTime() ?? 0
}

function isOnAnotherDay({ ours, theirs }: Pair): boolean {
  return ours.date !== theirs.date
}

function movedEntry({ ours, theirs }: Pair): MovedEntry {
  const sideOf = ({ date, entry }: Booked) => ({ date, value: entry.value })
  return { entryKind: ours.entryKind, ours: sideOf(ours), theirs: sideOf(theirs) }
}

function dayNote({ ours, theirs }: Pair): DayNote {
  const { entryKind, entry, date } = ours
  return { entryKind, identifier: entry.identifier, oursDate: date, theirsDate: theirs.date }
}
