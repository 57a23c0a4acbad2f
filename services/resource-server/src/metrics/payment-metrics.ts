import { snakeCase } from '@open-payments-server/runtime'
import type { Metrics } from '@open-payments-server/service-kit/metrics'
import { APPROVAL_DECISIONS, type ApprovalDecision } from '../domain/approval.js'
import { GIVEN_UP_CAUSES } from '../domain/given-up.js'
import type { CreatedKind, PaymentCounters } from '../domain/payment-counters.js'
import {
  HELD_COUNTED_MAX,
  measurePayments,
  UNDELIVERED_COUNTED_MAX,
  UNKNOWN_COUNTED_MAX
} from '../features/measure-payments/measure-payments.js'
import type { Queries } from '../modules/database.js'

/** What is waiting. */
const GAUGES = {
  outcomesOldestAgeSeconds: {
    name: 'open_payments_outcomes_oldest_age_seconds',
    help: 'Age of the oldest outcome of a payment that the auth server has not acknowledged; 0 when there is none.'
  },
  undeliveredCount: {
    name: 'open_payments_outcomes_undelivered',
    help: `Outcomes of payments that the auth server has not acknowledged, counted up to ${UNDELIVERED_COUNTED_MAX}.`
  },
  pendingOldestAgeSeconds: {
    name: 'open_payments_outgoing_payments_pending_oldest_age_seconds',
    help: 'How long that outgoing payment to a receiver hosted here is pending which has been so for longest and that no freeze holds; 0 when there is none.'
  },
  sendingOldestAgeSeconds: {
    name: 'open_payments_outgoing_payments_sending_oldest_age_seconds',
    help: 'How long that outgoing payment to another provider is pending which has been so for longest and waits for no decision about packets; 0 when there is none.'
  },
  unknownPacketCount: {
    name: 'open_payments_packets_unknown',
    help: `Packets to peers of which it is not known whether they arrived, counted up to ${UNKNOWN_COUNTED_MAX}.`
  },
  frozenCount: {
    name: 'open_payments_outgoing_payments_frozen',
    help: `Pending outgoing payments that a freeze holds, counted up to ${HELD_COUNTED_MAX}.`
  },
  approvalsWaitingCount: {
    name: 'open_payments_approvals_waiting',
    help: `Outgoing payments that await the approval of the provider, counted up to ${UNDELIVERED_COUNTED_MAX}.`
  },
  approvalsOldestAgeSeconds: {
    name: 'open_payments_approvals_oldest_age_seconds',
    help: 'How long that outgoing payment has awaited approval which is declined next; 0 when there is none.'
  },
  approvalsTimeUsedRatio: {
    name: 'open_payments_approvals_time_used_ratio',
    help: 'How much of its time that outgoing payment has used which is declined next, from 0 to 1; 0 when none awaits approval.'
  }
}

/**
 * Publishes the resource server's metrics of `docs/metrics.md`: what is waiting in its database, on each scrape, and
 * events, as they are counted.
 *
 * @param holdsFrozen whether a freeze holds the pending payments that it is about
 */
export function publishPayments(metrics: Metrics, database: Queries, holdsFrozen: boolean): PaymentCounters {
  metrics.addGauges({
    name: 'payments',
    gauges: GAUGES,
    read: () => measurePayments(database, holdsFrozen)
  })
  const created = publishCreated(metrics)
  return {
    countCreated: (kind) => {
      created[kind]()
    },
    countLost: metrics.addCounter({
      name: 'open_payments_lost_payments_total',
      help: 'Outgoing payments that clients were told of, and that the database did not have after another server took its place.'
    }),
    countIncomingCompleted: metrics.addCounter({
      name: 'open_payments_incoming_payments_completed_total',
      help: 'Incoming payments completed by their clients, or because they have received all they asked for.'
    }),
    countDelivery: metrics.addCounters(
      {
        name: 'open_payments_outcome_deliveries_total',
        help: 'Attempts to tell the auth server the outcome of a payment, by their result.'
      },
      'result',
      ['acknowledged', 'unavailable', 'refused', 'failed']
    ),
    countDecided: metrics.addCounters(
      {
        name: 'open_payments_approvals_decided_total',
        help: 'Outgoing payments that awaited approval, by what was decided.'
      },
      'decision',
      Object.keys(APPROVAL_DECISIONS) as ApprovalDecision[]
    ),
    countGivenUp: publishGivenUp(metrics),
    showKeptForOperator: publishKeptForOperator(metrics),
    showUnsettledSince: publishUnsettledSince(metrics),
    countEnded: metrics.addCounters(
      {
        name: 'open_payments_outgoing_payments_ended_total',
        help: 'Outgoing payments that ended, by the state they ended in.'
      },
      'state',
      ['completed', 'failed']
    )
  }
}

function publishGivenUp(metrics: Metrics): PaymentCounters['countGivenUp'] {
  const count = metrics.addCounters(
    {
      name: 'open_payments_payment_ids_given_up_total',
      help: 'Ids that no payment will ever get, and whose reservations are released, by why they were given up.'
    },
    'cause',
    GIVEN_UP_CAUSES.map(snakeCase)
  )
  return (cause, times) => {
    count(snakeCase(cause), times)
  }
}

function publishKeptForOperator(metrics: Metrics): PaymentCounters['showKeptForOperator'] {
  let kept = 0
  metrics.addLiveGauge(
    {
      name: 'open_payments_reservations_kept_for_operator',
      help: 'Open reservations that the last sweep left to an operator: the database changed its timeline since, and may have lost their payments.'
    },
    () => kept
  )
  return (count) => {
    kept = count
  }
}

function publishUnsettledSince(metrics: Metrics): PaymentCounters['showUnsettledSince'] {
  let sinceMs: number | undefined
  metrics.addLiveGauge(
    {
      name: 'open_payments_reservations_unsettled_oldest_age_seconds',
      help: 'Age of the oldest open reservation that the last sweep found, without those whose payments await approval or are held by a freeze; 0 when there is none.'
    },
    () => (sinceMs === undefined ? 0 : Math.max(0, (Date.now() - sinceMs) / 1_000))
  )
  return (oldestAtMs) => {
    sinceMs = oldestAtMs
  }
}

function publishCreated(metrics: Metrics): Readonly<Record<CreatedKind, () => void>> {
  return {
    'incoming-payment': metrics.addCounter({
      name: 'open_payments_incoming_payments_created_total',
      help: 'Incoming payments that clients created.'
    }),
    quote: metrics.addCounter({
      name: 'open_payments_quotes_created_total',
      help: 'Quotes that clients created.'
    }),
    'outgoing-payment': metrics.addCounter({
      name: 'open_payments_outgoing_payments_created_total',
      help: 'Outgoing payments that clients created.'
    })
  }
}
