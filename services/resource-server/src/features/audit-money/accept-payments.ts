import { isUuid } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { RESTORED_MAX } from '../../domain/ports.js'
import { acceptPayments } from '../../modules/grant-outcomes/index.js'
import { refusingWithoutAuthServer } from './lost-payments.js'
import { type Pair, readPair } from './pairs.js'
import {
  type RefusedReservation,
  type RestoreReservationsDependencies,
  tellAnew
} from './restore-reservations.js'

/** Maximum length of the reason, in characters. */
const REASON_LENGTH_MAX = 256

/** What accepting payments needs. */
export interface AcceptPaymentsDependencies extends RestoreReservationsDependencies {
  readonly clock: { now(): number }
}

/** An operator's order. */
export interface AcceptOrder {
  /** Ids (UUID). */
  readonly paymentIds: readonly string[]
  readonly reason: string
  /** Names in the operator's certificate; undefined without mutual TLS. */
  readonly by: string | undefined
}

/**
 * Reads which payments an operator accepts together. Each counts once, however often it is named.
 *
 * @returns ids (UUID)
 * @throws CallRefused `invalid`
 */
export function readAcceptedIds(paymentIds: readonly string[]): readonly string[] {
  const ids = [...new Set(paymentIds)]
  if (ids.length > 0 && ids.length <= RESTORED_MAX && ids.every(isUuid)) return ids
  throw invalidCallField('payment_ids', `must be 1 to ${RESTORED_MAX} lower-case UUIDs`)
}

/**
 * Records that an operator accepts payments that no grant counts, because the auth server lost their grants: all or none. The audit then
 * counts them, and no longer names them. The auth server is asked to count each once more: what it can count is counted instead.
 *
 * @returns the ids that this call recorded, without those that were accepted before or are counted
 * @throws CallRefused `invalid`; `not-found` for an id without a payment; `not-possible` for a payment that has not ended, whose grant is
 *   known, or when the auth server cannot be reached
 */
export async function acceptUncounted(
  { paymentIds, reason, by }: AcceptOrder,
  dependencies: AcceptPaymentsDependencies
): Promise<readonly string[]> {
  const ids = readAcceptedIds(paymentIds)
  // eslint-disable-next-line no-control-regex -- because control characters are what must not be in a reason
  if (reason === '' || reason.length > REASON_LENGTH_MAX || /[\u0000-\u001f\u007f]/.test(reason))
    throw invalidCallField(
      'reason',
      `must be 1 to ${REASON_LENGTH_MAX} characters, none of them control characters`
    )
  const uncounted = await refusingWithoutAuthServer(async () => {
    const pairs: Pair[] = []
    for (const id of ids) pairs.push(await readPair(id, dependencies))
    const unknown = pairs.filter(isUncounted)
    return (await tellAnew(unknown, dependencies)).refused.map(requireGrantUnknown)
  })
  const { database, clock, logger } = dependencies
  const accepted =
    uncounted.length === 0
      ? []
      : await acceptPayments(database, uncounted, { by, reason, nowMs: clock.now() })
  for (const paymentId of accepted)
    logger.warn({ paymentId, by, reason }, 'a payment without a grant was accepted by an operator')
  return accepted
}

/**
 * Whether a payment is neither counted nor accepted.
 *
 * @throws CallRefused for an id without a payment, and for one that has not ended
 */
function isUncounted({ paymentId, reservation, entry }: Pair): boolean {
  if (entry?.payment === undefined)
    throw new CallRefused('not-found', `there is no payment ${paymentId}`, { field: 'payment_ids' })
  if (reservation !== undefined || entry.acceptance === 'valid') return false
  if (entry.outcome === null)
    throw new CallRefused('not-possible', `the payment ${paymentId} has not ended`, { field: 'payment_ids' })
  return true
}

/** @throws CallRefused for a payment that is not counted for another reason */
function requireGrantUnknown(refused: RefusedReservation): RefusedReservation {
  if (refused.isGrantUnknown) return refused
  const told = `the grant of the payment ${refused.paymentId} is not lost: ${refused.reason}`
  throw new CallRefused('not-possible', told, { field: 'payment_ids' })
}
