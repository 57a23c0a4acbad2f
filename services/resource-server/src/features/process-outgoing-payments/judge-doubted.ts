import { inTransaction } from '@open-payments-server/database'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { AuthServerUnavailable, type GrantLimits, type Reservation } from '../../domain/ports.js'
import type { Database, Queries } from '../../modules/database.js'
import { findValueWithDoubted, type LeasedSending } from '../../modules/outgoing-payments/index.js'
import { lockPayable } from './lock-payable.js'

/** What judging needs. */
export interface DoubtedDependencies {
  readonly database: Database
  readonly clock: Clock
  readonly logger: Logger
  /** Tells whether a payment has ended, as its client was told. */
  readonly reservations: Pick<GrantLimits, 'findReservation'>
}

/** What is to be done with a payment: nothing more is ever sent of one that is to be concluded. */
export type Verdict = 'send' | 'wait' | 'conclude'

/**
 * Judges a payment of which more may have been sent than was written down, once an operator decided about that. Its end may be lost as well,
 * which the auth server knows; and it may never have begun, so it needs room with its peer. One whose terms no longer stand sends nothing, so
 * that nobody is asked.
 */
export async function judgeDoubted(
  payment: LeasedSending,
  dependencies: DoubtedDependencies
): Promise<Verdict> {
  const isOver = dependencies.clock.now() >= payment.sendUntilMs
  if (!isOver) {
    const state = await findState(payment, dependencies)
    if (state === undefined) return 'wait'
    if (state !== 'open') {
      const { paymentId } = payment
      dependencies.logger.error({ paymentId, reservation: state }, 'the end of a payment was lost')
      return 'conclude'
    }
  }
  if (await hasRoom(payment, dependencies)) return 'send'
  return isOver ? 'conclude' : 'wait'
}

/** The state of its reservation; undefined if that cannot be told now, or the auth server has lost it. */
async function findState(
  { paymentId }: LeasedSending,
  { reservations, logger }: DoubtedDependencies
): Promise<Reservation['state'] | undefined> {
  try {
    const reservation = await reservations.findReservation(paymentId)
    if (reservation === undefined) logger.error({ paymentId }, 'a payment waits for its reservation')
    return reservation?.state
  } catch (error) {
    if (!(error instanceof AuthServerUnavailable)) throw error
    logger.warn({ err: error, paymentId }, 'a payment waits for the auth server')
    return undefined
  }
}

/** Whether the provider may owe its peer what may still be sent for it: of one of which something arrived, it did before. */
function hasRoom(
  { paymentId, sending: { peerId } }: LeasedSending,
  { database }: DoubtedDependencies
): Promise<boolean> {
  return inTransaction(database, async (transaction: Queries) => {
    const bound = (await lockPayable(transaction, [peerId])).get(peerId)
    if (bound?.limitValue === undefined) return true
    const sent = await findValueWithDoubted(transaction, paymentId)
    if (sent?.hasArrived === true) return true
    return sent !== undefined && bound.limitValue - bound.payableValue - sent.value >= 0n
  })
}
