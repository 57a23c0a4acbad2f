/** What a payment settled with: what it actually spent, in the units of its reservation. */
export interface SettledValues {
  readonly settledDebitValue: bigint
  readonly settledReceiveValue: bigint
}

/** How a reservation is to end. */
export interface End {
  /** Id of the payment (UUID). */
  readonly paymentId: string
  /** undefined to release it: the payment does not exist. */
  readonly settled: SettledValues | undefined
}

/** What was found when a reservation was to be ended. */
export interface FoundReservation {
  /** Whether it was ended. For a refusal and an unknown payment: whether its release was recorded. */
  readonly ended: boolean
  /** As it was before; undefined for an unknown payment. */
  readonly before:
    | {
        readonly state: 'open' | 'settled' | 'released' | 'refused'
        /** Whether it is a refusal whose release was recorded. */
        readonly isReleasedRefusal: boolean
        /** The reserved amounts; undefined if nothing was reserved. */
        readonly reserved: { readonly debitValue: bigint; readonly receiveValue: bigint } | undefined
        /** undefined unless settled. */
        readonly settled: SettledValues | undefined
      }
    | undefined
}

/** The result of a call that ends a reservation. */
export type EndResult =
  /** It ended as requested, by this call or an earlier one. A released one has no room, and never will. */
  | 'ended'
  /** There is no reservation of the payment to be settled. */
  | 'unknown'
  /** The one to be settled was settled with other values, released, or never reserved. */
  | 'ended-otherwise'
  /** The one to be released was settled. */
  | 'was-settled'
  | 'more-debited-than-reserved'
  | 'more-received-than-reserved'

/**
 * Decides the result of ending a reservation.
 *
 * @returns `raced` when it was changed after it was read: the next attempt sees the change
 */
export function decideEnd({ settled }: End, found: FoundReservation): EndResult | 'raced' {
  if (found.ended) return 'ended'
  return settled === undefined ? decideRelease(found) : decideSettlement(settled, found)
}

function decideRelease({ before }: FoundReservation): EndResult | 'raced' {
  switch (before?.state) {
    case 'released':
      return 'ended'
    case 'settled':
      return 'was-settled'
    case 'refused':
      // Nothing was reserved, and a late retry is refused again. One that was not released was released or purged
      // meanwhile.
      return before.isReleasedRefusal ? 'ended' : 'raced'
    case 'open':
    case undefined: // one was recorded meanwhile
      return 'raced'
  }
}

function decideSettlement(asked: SettledValues, { before }: FoundReservation): EndResult | 'raced' {
  if (before === undefined) return 'unknown'
  const { state, reserved, settled } = before
  if (state === 'released' || state === 'refused' || reserved === undefined) return 'ended-otherwise'
  if (asked.settledDebitValue > reserved.debitValue) return 'more-debited-than-reserved'
  if (asked.settledReceiveValue > reserved.receiveValue) return 'more-received-than-reserved'
  if (settled === undefined) return 'raced'
  const isSame =
    settled.settledDebitValue === asked.settledDebitValue &&
    settled.settledReceiveValue === asked.settledReceiveValue
  return isSame ? 'ended' : 'ended-otherwise'
}
