import type { Logger } from '@open-payments-server/runtime'
import type { Amount } from '@open-payments-server/value-types/amounts'
import { type LostReservation, RESTORED_MAX } from '../../domain/ports.js'
import type { Queries } from '../../modules/database.js'
import { deliverAgain } from '../../modules/grant-outcomes/index.js'
import { refusingWithoutAuthServer } from './lost-payments.js'
import type { PersistedPayment } from './outcome-entries.js'
import { type Pair, type PairDependencies, readPairs } from './pairs.js'

/** Maximum number of refused payments that are named. */
const REFUSED_NAMED_MAX = 1_000

/** Maximum duration of having one batch of reservations recorded, in milliseconds. */
const BATCH_TIMEOUT_MS = 60_000

/** What telling the auth server anew needs. */
export interface RestoreReservationsDependencies extends PairDependencies {
  readonly database: Queries
  readonly logger: Pick<Logger, 'warn' | 'error'>
  /** Signals that there is an outcome to deliver to the auth server. */
  readonly onReservationEnded: () => void
}

/** A payment whose reservation the auth server did not record. */
export interface RefusedReservation {
  /** Id (UUID). */
  readonly paymentId: string
  /** Id (UUID). */
  readonly grantId: string
  /** URL. */
  readonly walletAddress: string
  /** What it debited, or may debit. */
  readonly debitAmount: Amount
  /** Why not. */
  readonly reason: string
  /** Whether it is because there is no such grant: then an operator may accept the payment. */
  readonly isGrantUnknown: boolean
}

/** What the auth server was told anew. */
export interface RestoredReservations {
  readonly restoredCount: number
  /** Number of outcomes that are delivered again. */
  readonly outcomeCount: number
  readonly refusedCount: number
  /** The first of them, by payment id. */
  readonly refused: readonly RefusedReservation[]
}

/**
 * Tells the auth server anew of what its database lost: has it record the reservations of payments that it does not know, and delivers
 * again the outcomes that it acknowledged and does not know. A payment that sent nothing only needs its release.
 *
 * Both services change meanwhile. What looks unknown because it was reserved just now, the auth server has: it answers as if it had
 * recorded it.
 *
 * @throws CallRefused `not-possible` when the auth server cannot be reached: what it was told until then stays
 */
export async function restoreReservations(
  dependencies: RestoreReservationsDependencies
): Promise<RestoredReservations> {
  const told = { restoredCount: 0, outcomeCount: 0, refusedCount: 0, refused: [] as RefusedReservation[] }
  const tell = async (batch: readonly Pair[]): Promise<void> => {
    const { restored, refused, outcomes } = await tellAnew(batch, dependencies)
    told.restoredCount += restored
    told.outcomeCount += outcomes
    told.refusedCount += refused.length
    told.refused.push(...refused.slice(0, REFUSED_NAMED_MAX - told.refused.length))
  }
  await refusingWithoutAuthServer(async () => {
    let batch: Pair[] = []
    for await (const pair of readPairs(undefined, dependencies)) {
      if (!isUnknownThere(pair)) continue
      batch.push(pair)
      if (batch.length < RESTORED_MAX) continue
      await tell(batch)
      batch = []
    }
    await tell(batch)
  })
  const { restoredCount, outcomeCount, refusedCount } = told
  dependencies.logger.warn(
    { restoredCount, outcomeCount, refusedCount },
    'the auth server was told anew of what it lost'
  )
  return told
}

/** Whether the auth server does not know a payment id or its outcome, as if what it acknowledged was lost. */
function isUnknownThere({ reservation, entry }: Pair): boolean {
  if (entry === undefined) return false
  if (reservation === undefined && entry.acceptance === 'valid') return false
  if (reservation === undefined) return entry.payment !== undefined || entry.delivered
  return reservation.state === 'open' && entry.delivered
}

/**
 * Tells the auth server anew of some payments.
 *
 * @param batch at most {@link RESTORED_MAX}, all unknown there
 * @throws AuthServerUnavailable
 */
export async function tellAnew(
  batch: readonly Pair[],
  { database, grantLimits, logger, onReservationEnded }: RestoreReservationsDependencies
): Promise<{ restored: number; refused: readonly RefusedReservation[]; outcomes: number }> {
  if (batch.length === 0) return { restored: 0, refused: [], outcomes: 0 }
  const lost = batch.filter(needsReservation)
  const asked = lost.flatMap(({ paymentId, entry: { payment } }) => reservationsOf(paymentId, payment))
  const deadline = { deadlineAtMs: Date.now() + BATCH_TIMEOUT_MS }
  const results = asked.length === 0 ? [] : await grantLimits.restore(asked, deadline)
  const resultOf = new Map(asked.map(({ paymentId }, index) => [paymentId, results[index]]))
  const refused = lost.flatMap(({ paymentId, entry: { payment } }) => {
    const result = resultOf.get(paymentId)
    if (result?.kind === 'restored') return []
    const { grantId, walletAddress, debitAmount } = payment
    const reason = result?.reason ?? 'It is not known here when it was charged'
    const isGrantUnknown = result?.isGrantUnknown === true
    logger.error(
      { paymentId, grantId, reason },
      'the auth server did not record the reservation of a payment'
    )
    return [{ paymentId, grantId, walletAddress, debitAmount, reason, isGrantUnknown }]
  })
  const refusedIds = new Set(refused.map(({ paymentId }) => paymentId))
  // An outcome without its reservation would be refused again and again.
  const due = batch.map(({ paymentId }) => paymentId).filter((paymentId) => !refusedIds.has(paymentId))
  const outcomes = due.length === 0 ? 0 : await deliverAgain(database, due)
  if (outcomes > 0) onReservationEnded()
  return { restored: lost.length - refused.length, refused, outcomes }
}

/** A payment here without a reservation there. */
type Unreserved = Pair & { readonly entry: { readonly payment: PersistedPayment } }

/** Whether the auth server is to record a reservation: not where nothing was and nothing will be sent. */
function needsReservation(pair: Pair): pair is Unreserved {
  const { reservation, entry } = pair
  return reservation === undefined && entry?.payment !== undefined && entry.outcome !== 'release'
}

/** The reservation that the auth server is to record; none if the row that says when it was charged was damaged. */
function reservationsOf(paymentId: string, payment: PersistedPayment): LostReservation[] {
  const { chargedAtMs } = payment
  if (chargedAtMs === undefined) return []
  const { grantId, walletAddress, receiver, debitAmount, receiveAmount, requestHash } = payment
  const spent = {
    spentDebitValue: payment.grantSpentDebitValue,
    spentReceiveValue: payment.grantSpentReceiveValue
  }
  const content = { grantId, walletAddress, receiver, debitAmount, receiveAmount, requestHash }
  return [{ paymentId, ...content, chargedAtMs, ...spent }]
}
