import { createPublishingWorker } from '@open-payments-server/events'
import {
  createPurge,
  createPurgeRepository,
  createPurgeWorker
} from '@open-payments-server/service-kit/purge'
import { type FailedBatchCounter, PURGED_KINDS } from '../domain/counters.js'
import type { PaymentCounters } from '../domain/payment-counters.js'
import { createLocalPaymentMethod } from '../features/process-outgoing-payments/local-payment-method.js'
import { publishEvents } from '../modules/events/index.js'
import { purgeIncomingPayments } from '../modules/incoming-payments/index.js'
import { purgeQuotes } from '../modules/quotes/index.js'
import {
  createApprovalWorker,
  createDeliveryWorker,
  createProcessingWorker,
  createSweepingWorker
} from '../workers/payment-workers.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'

/** Called by features that create work for the workers. */
export type Wakers = ReturnType<typeof startWorkers>

/** All background work: started before the listeners, and stopped after them. */
export function startWorkers(
  context: Context,
  { database, sharedStore }: Resources,
  { urls, grantLimits }: DomainPorts,
  counters: PaymentCounters & { readonly countFailedBatch: FailedBatchCounter }
) {
  const { config, logger, lifecycle } = context
  const pollSeconds = config.PROCESSING_POLL_SECONDS
  const callDeadlineMs = config.AUTH_GRPC_DEADLINE_MS
  const delivering = { database, grantLimits, logger, counters }
  const failing = (worker: Parameters<FailedBatchCounter>[0]) => ({
    onBatchFailed: () => {
      counters.countFailedBatch(worker)
    }
  })
  const delivery = createDeliveryWorker({
    ...delivering,
    ...failing('delivery'),
    callDeadlineMs,
    pollSeconds
  })
  lifecycle.add(delivery)
  const onReservationEnded = (): void => {
    delivery.wake()
  }
  const publishing = createPublishingWorker({
    ...failing('publishing'),
    publish: () => publishEvents(database),
    sharedStore,
    pollMs: pollSeconds * 1_000,
    logger
  })
  lifecycle.add(publishing)
  const onEventsAppended = (): void => {
    publishing.wake()
  }
  const methods = [createLocalPaymentMethod({ ...context, database, urls, counters })]
  const processing = createProcessingWorker({
    ...failing('processing'),
    methods,
    pollSeconds,
    logger,
    onPaymentsEnded: () => {
      onReservationEnded()
      onEventsAppended()
    }
  })
  lifecycle.add(processing)
  lifecycle.add(
    createSweepingWorker({
      ...delivering,
      ...failing('sweeping'),
      orphanAgeSeconds: config.ORPHAN_AGE_SECONDS,
      intervalSeconds: config.SWEEP_INTERVAL_SECONDS,
      onReservationEnded
    })
  )
  const onPaymentCreated = (): void => {
    processing.wake()
    onEventsAppended()
  }
  return { onPaymentCreated, onReservationEnded, onEventsAppended }
}

/** Declines payments that nobody decided about in time. */
export function startApprovalTimeout(
  context: Context,
  { database }: Pick<Resources, 'database'>,
  { urls }: Pick<DomainPorts, 'urls'>,
  wakers: Wakers,
  counters: Counters
): void {
  const { config, lifecycle } = context
  const onBatchFailed = (): void => {
    counters.countFailedBatch('approval')
  }
  const pollSeconds = config.PROCESSING_POLL_SECONDS
  lifecycle.add(
    createApprovalWorker({ ...context, ...wakers, database, urls, counters, pollSeconds, onBatchFailed })
  )
}

/** Deletes expired data, unless disabled by settings. */
export function startPurge(
  { config, logger, lifecycle, clock }: Context,
  { database }: Pick<Resources, 'database'>,
  counters: Pick<Counters, 'countPurged' | 'countFailedBatch'>
): void {
  const { PURGE_INTERVAL_SECONDS: intervalSeconds, PURGE_RETENTION_DAYS: retentionDays } = config
  if (intervalSeconds === 0) return
  const repository = createPurgeRepository(database, {
    quote: purgeQuotes,
    'incoming-payment': purgeIncomingPayments
  })
  const purgeBatch = createPurge({ repository, kinds: PURGED_KINDS, clock, retentionDays, ...counters })
  const onBatchFailed = (): void => {
    counters.countFailedBatch('purge')
  }
  lifecycle.add(createPurgeWorker({ purgeBatch, intervalSeconds, logger, onBatchFailed }))
}
