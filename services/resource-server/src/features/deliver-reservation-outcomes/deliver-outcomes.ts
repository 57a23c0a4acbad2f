import { fulfilled, type ItemResult, type Logger } from '@open-payments-server/runtime'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import {
  AuthServerUnavailable,
  type CallOptions,
  type EndResult,
  type GrantLimits
} from '../../domain/ports.js'
import type { Queries } from '../../modules/database.js'
import { acknowledge, claimDue, type DueOutcome, postpone } from '../../modules/grant-outcomes/index.js'
import { meetTimeline, readTimelineChange } from '../../modules/timeline/index.js'
import { backoffMs, REFUSED_RETRY_MS } from './backoff.js'

/** How much longer than its calls a claimed outcome belongs to its process, in milliseconds. */
const LEASE_MARGIN_MS = 1_000

/** What delivering outcomes needs. */
export interface DeliverOutcomesDependencies {
  readonly database: Queries
  /** Whether a promoted server has every commit that was answered: DATABASE_DURABILITY. */
  readonly keepsCommits: boolean
  readonly grantLimits: GrantLimits
  /** Maximum duration of the calls of one round to the auth server, in milliseconds. */
  readonly callDeadlineMs: number
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countDelivery'>
}

/** A round of deliveries. */
export interface DeliveryRound {
  /** Maximum number of outcomes. */
  readonly limit: number
  /** Ends its calls, when the process stops. */
  readonly signal: AbortSignal
}

/** The result of a round of deliveries. */
export interface DeliveredRound {
  /** Number of outcomes that were due, up to the limit. */
  readonly due: number
  /** Number of them that the auth server acknowledged. */
  readonly delivered: number
}

/**
 * Delivers due outcomes to the auth server, with one call. Those that are not acknowledged become due again
 * later: an outcome is never dropped. What may be a lost payment's reservation is left to an operator.
 */
export async function deliverOutcomes(
  { limit, signal }: DeliveryRound,
  dependencies: DeliverOutcomesDependencies
): Promise<DeliveredRound> {
  const due = await claimDue(dependencies.database, limit, dependencies.callDeadlineMs + LEASE_MARGIN_MS)
  if (due.length === 0) return { due: 0, delivered: 0 }
  // One deadline for the whole round: a reservation may be looked up before its outcome is delivered.
  const deadlineAtMs = Date.now() + dependencies.callDeadlineMs
  const answers = await deliver(due, { deadlineAtMs, signal }, dependencies)
  const results = due.map((outcome, index) => read(outcome, answers[index], dependencies))
  const delivered = results.filter(({ retryAfterMs }) => retryAfterMs === undefined)
  const failed = results.flatMap(({ paymentId, retryAfterMs }) =>
    retryAfterMs === undefined ? [] : [{ paymentId, retryAfterMs }]
  )
  if (delivered.length > 0) {
    await acknowledge(
      dependencies.database,
      delivered.map(({ paymentId }) => paymentId)
    )
  }
  if (failed.length > 0) await postpone(dependencies.database, failed)
  return { due: due.length, delivered: delivered.length }
}

/** The result of delivering an outcome: `kept` for a reservation that an operator must decide about. */
type Answer = ItemResult<EndResult | 'kept'>

/** Ends reservations, but none that an operator must decide about. */
async function deliver(
  due: readonly DueOutcome[],
  options: CallOptions,
  dependencies: DeliverOutcomesDependencies
): Promise<readonly (Answer | undefined)[]> {
  const decided = await keepForOperator(due, options, dependencies)
  const sent = due.filter(({ paymentId }) => !decided.has(paymentId))
  const answers: readonly Answer[] =
    sent.length === 0 ? [] : await dependencies.grantLimits.end(sent, options)
  const answerOf = new Map(sent.map(({ paymentId }, index) => [paymentId, answers[index]]))
  return due.map(({ paymentId }) => decided.get(paymentId) ?? answerOf.get(paymentId))
}

/**
 * Finds ids that a request gave up though it had not made their reservations, if these are from before the database changed its
 * timeline: their payments may have been answered, and then lost.
 *
 * @returns by payment id; also those that cannot be looked up now
 */
async function keepForOperator(
  due: readonly DueOutcome[],
  options: CallOptions,
  { database, keepsCommits, grantLimits }: DeliverOutcomesDependencies
): Promise<ReadonlyMap<string, Answer>> {
  const uncertain = due.filter(({ mayBeLost }) => mayBeLost)
  if (uncertain.length === 0) return new Map()
  await meetTimeline(database, keepsCommits)
  const changedAtMs = await readTimelineChange(database)
  if (changedAtMs === -Infinity) return new Map()
  const found = await Promise.allSettled(
    uncertain.map(({ paymentId }) => grantLimits.findReservation(paymentId, options))
  )
  return new Map(
    found.flatMap((result, index): [string, Answer][] => {
      const paymentId = uncertain[index]?.paymentId ?? ''
      if (result.status === 'rejected') return [[paymentId, result]]
      const reservation = result.value
      const isTaken = reservation?.state === 'open' || reservation?.state === 'settled'
      return isTaken && reservation.createdAtMs < changedAtMs ? [[paymentId, fulfilled('kept')]] : []
    })
  )
}

interface Delivery {
  readonly paymentId: string
  /** When to try again; undefined when it was acknowledged. */
  readonly retryAfterMs: number | undefined
}

function read(
  outcome: DueOutcome,
  answer: Answer | undefined,
  { logger, counters }: DeliverOutcomesDependencies
): Delivery {
  const { paymentId, attempts, kind } = outcome
  if (answer?.status === 'fulfilled') {
    const { value } = answer
    if (value === 'kept') {
      logger.error(
        { paymentId },
        'the reservation of an id that was given up is from before the database changed its timeline: its payment may be lost'
      )
      return { paymentId, retryAfterMs: undefined }
    }
    counters.countDelivery(value === 'ended' ? 'acknowledged' : 'refused')
    if (value === 'ended') return { paymentId, retryAfterMs: undefined }
    // The two services disagree about money: only an operator can tell why.
    logger.error(
      { paymentId, outcome: kind, answer: value },
      'the auth server refuses the outcome of a payment'
    )
    return { paymentId, retryAfterMs: REFUSED_RETRY_MS }
  }
  const error: unknown = answer?.reason
  const unavailable = error instanceof AuthServerUnavailable
  logger[unavailable ? 'warn' : 'error'](
    { err: error, paymentId, outcome: kind, attempts },
    'outcome of a payment not delivered'
  )
  counters.countDelivery(unavailable ? 'unavailable' : 'failed')
  return { paymentId, retryAfterMs: backoffMs(attempts) }
}
