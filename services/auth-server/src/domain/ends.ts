/** What a payment really spent, in the units it was reserved in. */
export interface SettledValues {
  readonly debited: bigint
  readonly received: bigint
}

/** How a reservation is to end. */
export interface End {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  /** undefined to release it: the payment does not exist. */
  readonly spent: SettledValues | undefined
}

/** What was found when a reservation was to be ended. */
export interface FoundReservation {
  /** Whether it was ended. For a refusal and an unknown payment: whether it was recorded that it was released. */
  readonly ended: boolean
  /** As it was before; undefined for an unknown payment. */
  readonly before:
    | {
        readonly state: 'open' | 'settled' | 'released' | 'refused'
        /** Whether it is a refusal of which it is recorded that it was released. */
        readonly isReleasedRefusal: boolean
        /** What it was reserved for; undefined for what never held room. */
        readonly reserved: SettledValues | undefined
        /** What it was settled with. */
        readonly settled: SettledValues | undefined
      }
    | undefined
}

/** What became of a call that ends a reservation. */
export type EndOutcome =
  /** It ended as asked, by this call or by an earlier one. A released one holds no room, and never will. */
  | 'ended'
  /** No reservation of the payment to be settled is known. */
  | 'unknown'
  /** The one to be settled was settled with other values, released, or never held room. */
  | 'ended_otherwise'
  /** The one to be released was settled. */
  | 'was_settled'
  | 'more_debited_than_reserved'
  | 'more_received_than_reserved'

/**
 * Decides what the end of a reservation came to.
 *
 * @returns `raced` when it was changed after it had been looked at: the next look sees what became of it
 */
export function decideEnd({ spent }: End, found: FoundReservation): EndOutcome | 'raced' {
  if (found.ended) return 'ended'
  return spent === undefined ? decideRelease(found) : decideSettlement(spent, found)
}

function decideRelease({ before }: FoundReservation): EndOutcome | 'raced' {
  switch (before?.state) {
    case 'released':
      return 'ended'
    case 'settled':
      return 'was_settled'
    case 'refused':
      // It never held room, and a late retry is refused again. One that was not released was, or was purged, meanwhile.
      return before.isReleasedRefusal ? 'ended' : 'raced'
    case 'open':
    case undefined: // one was recorded meanwhile
      return 'raced'
  }
}

function decideSettlement(spent: SettledValues, { before }: FoundReservation): EndOutcome | 'raced' {
  if (before === undefined) return 'unknown'
  const { state, reserved, settled } = before
  if (state === 'released' || state === 'refused' || reserved === undefined) return 'ended_otherwise'
  if (spent.debited > reserved.debited) return 'more_debited_than_reserved'
  if (spent.received > reserved.received) return 'more_received_than_reserved'
  if (settled === undefined) return 'raced'
  const same = settled.debited === spent.debited && settled.received === spent.received
  return same ? 'ended' : 'ended_otherwise'
}
