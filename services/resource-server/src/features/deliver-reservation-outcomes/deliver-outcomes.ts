import type { Logger, ItemResult } from '@open-payments-server/runtime'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { AuthServerUnavailable, type EndResult, type GrantLimits } from '../../domain/ports.js'
import type { Queries } from '../../modules/database.js'
import { acknowledge, claimDue, type DueOutcome, postpone } from '../../modules/grant-outcomes/index.js'
import { backoffMs, REFUSED_RETRY_MS } from './backoff.js'

/** How much longer than a call a claimed outcome belongs to its process, in milliseconds. */
const LEASE_MARGIN_MS = 1_000

/** What delivering outcomes needs. */
export interface DeliverOutcomesDependencies {
  readonly database: Queries
  readonly grantLimits: GrantLimits
  /** Maximum duration of one call to the auth server, in milliseconds. */
  readonly callDeadlineMs: number
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countDelivery'>
}

/** The result of a round of deliveries. */
export interface DeliveredRound {
  /** Number of outcomes that were due, up to the limit. */
  readonly due: number
  /** Number of them that the auth server acknowledged. */
  readonly delivered: number
}

/**
 * Delivers up to `limit` due outcomes to the auth server, with one call. Those that are not acknowledged become due again
 * later: an outcome is never dropped.
 */
export async function deliverOutcomes(
  limit: number,
  dependencies: DeliverOutcomesDependencies,
  signal?: AbortSignal
): Promise<DeliveredRound> {
  const due = await claimDue(dependencies.database, limit, dependencies.callDeadlineMs + LEASE_MARGIN_MS)
  if (due.length === 0) return { due: 0, delivered: 0 }
  const answers = await dependencies.grantLimits.end(due, signal === undefined ? {} : { signal })
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

interface Delivery {
  readonly paymentId: string
  /** When to try again; undefined when it was acknowledged. */
  readonly retryAfterMs: number | undefined
}

function read(
  outcome: DueOutcome,
  answer: ItemResult<EndResult> | undefined,
  { logger, counters }: DeliverOutcomesDependencies
): Delivery {
  const { paymentId, attempts, kind } = outcome
  if (answer?.status === 'fulfilled') {
    const { value } = answer
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
