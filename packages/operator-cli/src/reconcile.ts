import type { PeerEntryKind, PeerStatement, PeerStatementEntry } from './peer-statement.js'

/** The entries that a side booked on a day. */
export type DayEntries = Pick<PeerStatement, 'date' | 'entries'>

/** What is compared. */
export interface ReconciledEntries {
  /** Ours, of the days that are compared. */
  readonly ours: readonly DayEntries[]
  /** Ours, of the days around: theirs may match them, but none of them is missed. */
  readonly oursNearby: readonly DayEntries[]
  /** Theirs, of the days that are compared. */
  readonly theirs: readonly DayEntries[]
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

/** The two sides booked the same on different days, as around midnight. No difference. */
export interface DayNote {
  /** What the entry records, as this side sees it. */
  readonly entryKind: PeerEntryKind
  readonly identifier: string
  /** Day in UTC. */
  readonly oursDate: string
  readonly theirsDate: string
}

/** The result of a comparison. */
export interface Reconciliation {
  /** Number of entries that both sides have, with the same value. */
  readonly matchedCount: number
  /** In the order of booking. */
  readonly differences: readonly Difference[]
  readonly notes: readonly DayNote[]
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
 * the same, those of the same day and value match first.
 */
export function reconcile({ ours, oursNearby, theirs }: ReconciledEntries): Reconciliation {
  const nearby = bookedOf(oursNearby, (kind) => kind)
  const isNearby = new Set(nearby)
  const all = [...bookedOf(ours, (kind) => kind), ...nearby]
  const sameDay = pairBy(
    all,
    bookedOf(theirs, (kind) => OTHER_SIDE[kind]),
    sameDayKey
  )
  const sameValue = pairBy(sameDay.ours, sameDay.theirs, sameValueKey)
  const others = pairBy(sameValue.ours, sameValue.theirs, identityKey)
  const onlyOurs = others.ours.filter((booked) => !isNearby.has(booked))
  return {
    matchedCount: sameDay.pairs.length + sameValue.pairs.length,
    differences: [
      ...others.pairs.map(valueDiffers),
      ...onlyOurs.map((booked) => onlyOneSide('ours', booked)),
      ...others.theirs.map((booked) => onlyOneSide('theirs', booked))
    ].sort((one, other) => bookingTimeMs(one) - bookingTimeMs(other)),
    notes: [...sameValue.pairs, ...others.pairs].filter(isOnAnotherDay).map(dayNote)
  }
}

/** Whether an entry of this kind is a settlement, and no packet. */
export function isSettlement(kind: PeerEntryKind): boolean {
  return kind === 'settlement_received' || kind === 'settlement_sent'
}

function bookedOf(
  days: readonly DayEntries[],
  asOurs: (kind: PeerEntryKind) => PeerEntryKind
): readonly Booked[] {
  return days.flatMap(({ date, entries }) =>
    entries.map((entry) => ({ entryKind: asOurs(entry.kind), entry, date }))
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

/** Pairs entries with the same key, the earlier ones first. */
function pairBy(
  ours: readonly Booked[],
  theirs: readonly Booked[],
  keyOf: (booked: Booked) => string
): Pairing {
  const waiting = new Map<string, Booked[]>()
  for (const booked of [...ours].reverse()) {
    const key = keyOf(booked)
    const others = waiting.get(key)
    if (others === undefined) waiting.set(key, [booked])
    else others.push(booked)
  }
  const pairs: Pair[] = []
  const theirsLeft: Booked[] = []
  for (const booked of theirs) {
    const match = waiting.get(keyOf(booked))?.pop()
    if (match === undefined) theirsLeft.push(booked)
    else pairs.push({ ours: match, theirs: booked })
  }
  const paired = new Set(pairs.map((pair) => pair.ours))
  return { pairs, ours: ours.filter((booked) => !paired.has(booked)), theirs: theirsLeft }
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

function dayNote({ ours, theirs }: Pair): DayNote {
  const { entryKind, entry, date } = ours
  return { entryKind, identifier: entry.identifier, oursDate: date, theirsDate: theirs.date }
}
