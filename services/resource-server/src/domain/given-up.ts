/** Why a payment id was given up: no payment will ever be created under it, and its reservation is released. */
export const GIVEN_UP_CAUSES = [
  /** It is unknown whether the reservation was made. */
  'reservation-unknown',
  /** The reservation was made, but it is unknown whether the payment was persisted, or the database refused it. */
  'persist-failed',
  /** The id, the signed request or the quote belongs to another payment. */
  'id-taken',
  /** Its reservation is from long ago, left by a crash or an outage. */
  'charge-stale',
  /** An earlier attempt of the request made the reservation, and this one cannot persist the payment. */
  'reservation-repeated',
  /** Its receiver cannot take the payment. */
  'receiver-not-payable',
  /** The account or the wallet address that it would be sent from is frozen. */
  'account-frozen',
  /** The sweeper found a reservation without a payment. */
  'swept',
  /** The payment was lost when the database changed its timeline, and an operator gave it up. */
  'lost'
] as const

/** One of {@link GIVEN_UP_CAUSES}. */
export type GivenUpCause = (typeof GIVEN_UP_CAUSES)[number]

/** Causes for which a payment request itself gives an id up. */
export type RequestCause = Extract<
  GivenUpCause,
  | 'reservation-unknown'
  | 'reservation-repeated'
  | 'persist-failed'
  | 'id-taken'
  | 'charge-stale'
  | 'receiver-not-payable'
  | 'account-frozen'
>
