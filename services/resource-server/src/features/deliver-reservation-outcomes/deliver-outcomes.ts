import { setMaxListeners } from 'node:events'
import type { Logger } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { AuthServerUnavailable, type EndOutcome, type GrantLimits } from '../../domain/ports.js'
import { backoffMs, REFUSED_RETRY_MS } from './backoff.js'
import { claimDue, type DueOutcome, markDelivered, postpone } from './repository.js'

/** How much longer than a call may take a claimed outcome stays with whoever claimed it, in milliseconds. */
const LEASE_MARGIN_MS = 1_000

/** What delivering outcomes needs. */
export interface DeliverOutcomesDeps {
  readonly pool: Pool
  readonly grantLimits: GrantLimits
  /** Most that one call of the auth server may take, in milliseconds. */
  readonly callDeadlineMs: number
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countDelivery'>
}

/** What a round of deliveries came to. */
export interface DeliveredRound {
  /** How many outcomes were due, up to the limit. */
  readonly due: number
  /** How many of them the auth server acknowledged. */
  readonly delivered: number
}

/**
 * Tells the auth server what became of payments: up to `limit` outcomes that are due, all at once. Whatever is not
 * acknowledged is due again later: an outcome is never given up.
 */
export async function deliverOutcomes(
  limit: number,
  deps: DeliverOutcomesDeps,
  signal?: AbortSignal
): Promise<DeliveredRound> {
  const due = await claimDue(deps.pool, limit, deps.callDeadlineMs + LEASE_MARGIN_MS)
  if (due.length === 0) return { due: 0, delivered: 0 }
  // Every call listens to the signal while it runs.
  if (signal !== undefined) setMaxListeners(limit + 1, signal)
  const results = await Promise.all(due.map((outcome) => deliver(outcome, deps, signal)))
  const delivered = results.filter(({ retryAfterMs }) => retryAfterMs === undefined)
  const failed = results.flatMap(({ paymentId, retryAfterMs }) =>
    retryAfterMs === undefined ? [] : [{ paymentId, retryAfterMs }]
  )
  if (delivered.length > 0) {
    await markDelivered(
      deps.pool,
      delivered.map(({ paymentId }) => paymentId)
    )
  }
  if (failed.length > 0) await postpone(deps.pool, failed)
  return { due: due.length, delivered: delivered.length }
}

interface Delivery {
  readonly paymentId: string
  /** When to try again; undefined when it was acknowledged. */
  readonly retryAfterMs: number | undefined
}

async function deliver(
  outcome: DueOutcome,
  { grantLimits, logger, counters }: DeliverOutcomesDeps,
  signal: AbortSignal | undefined
): Promise<Delivery> {
  const { paymentId, attempts } = outcome
  try {
    const answer = await send(outcome, grantLimits, signal)
    counters.countDelivery(answer === 'ended' ? 'acknowledged' : 'refused')
    if (answer === 'ended') return { paymentId, retryAfterMs: undefined }
    // The two services disagree about money: only people can tell why.
    logger.error(
      { paymentId, outcome: outcome.kind, answer },
      'the auth server refuses the outcome of a payment'
    )
    return { paymentId, retryAfterMs: REFUSED_RETRY_MS }
  } catch (error) {
    const fields = { err: error, paymentId, outcome: outcome.kind, attempts }
    const unavailable = error instanceof AuthServerUnavailable
    logger[unavailable ? 'warn' : 'error'](fields, 'outcome of a payment not delivered')
    counters.countDelivery(unavailable ? 'unavailable' : 'failed')
    return { paymentId, retryAfterMs: backoffMs(attempts) }
  }
}

function send(
  outcome: DueOutcome,
  grantLimits: GrantLimits,
  signal: AbortSignal | undefined
): Promise<EndOutcome> {
  const options = signal === undefined ? {} : { signal }
  switch (outcome.kind) {
    case 'settle': {
      const { debitedValue, receivedValue } = outcome
      return grantLimits.settle(outcome.paymentId, { debitedValue, receivedValue }, options)
    }
    case 'release':
      return grantLimits.release(outcome.paymentId, options)
  }
}
