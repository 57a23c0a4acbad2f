/** Why a payment id was given up: no payment will ever be created under it, and its reservation is released. */
export const GIVEN_UP_CAUSES = [
  /** It is not known whether the reservation was made. */
  'reservation_unknown',
  /** It was made, and it is not known whether the payment was persisted, or the database refused it. */
  'persist_failed',
  /** The id, the signed request or the quote belongs to another payment. */
  'id_taken',
  /** Its receiver cannot take the payment. */
  'receiver_not_payable',
  /** The sweeper found its reservation, and no payment. */
  'swept',
  /** A change of the database's timeline lost its payment, and an operator gave it up. */
  'lost'
] as const

/** One of {@link GIVEN_UP_CAUSES}. */
export type GivenUpCause = (typeof GIVEN_UP_CAUSES)[number]

/** Causes for which a request to pay gives an id up by itself. */
export type RequestCause = Extract<GivenUpCause, 'reservation_unknown' | 'persist_failed' | 'id_taken'>
