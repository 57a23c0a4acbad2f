import { createPublishingWorker } from '@open-payments-server/events'
import type { Worker } from '@open-payments-server/runtime'
import {
  createPurge,
  createPurgeRepository,
  createPurgeWorker
} from '@open-payments-server/service-kit/purge'
import { deliveredNumber, purgeAttempts } from '@open-payments-server/webhooks'
import { type FailedBatchCounter, EXPIRING_KINDS } from '../domain/counters.js'
import type { EventType } from '../domain/event-types.js'
import type { PaymentCounters } from '../domain/payment-counters.js'
import { createLocalPaymentMethod } from '../features/process-outgoing-payments/local-payment-method.js'
import { createPurgeOfEvents, publishEvents } from '../modules/events/index.js'
import { keepFrozenClients } from '../modules/frozen-clients/index.js'
import { purgeIncomingPayments } from '../modules/incoming-payments/index.js'
import { purgeQuotes } from '../modules/quotes/index.js'
import { createFrozenClientsWorker } from '../workers/frozen-clients-worker.js'
import {
  createApprovalWorker,
  createDeliveryWorker,
  createProcessingWorker,
  createSweepingWorker
} from '../workers/payment-workers.js'
import { createExpiryWorker } from '../workers/expiry-worker.js'
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
  { urls, grantLimits, ...ports }: DomainPorts,
  counters: PaymentCounters & Pick<Counters, 'countFailedBatch' | 'countPublished'>
) {
  const { config, logger, lifecycle } = context
  const pollSeconds = config.PROCESSING_POLL_SECONDS
  const holdsFrozen = config.FREEZE_PENDING_PAYMENTS === 'hold'
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
    onPublished: (type, count) => {
      counters.countPublished(type as EventType, count)
    },
    sharedStore,
    logger
  })
  lifecycle.add(publishing)
  const onEventsAppended = (): void => {
    publishing.wake()
  }
  lifecycle.add(createExpiryWorker({ ...failing('expiry'), ...context, database, onEventsAppended }))
  const methods = [createLocalPaymentMethod({ ...context, database, urls, counters, holdsFrozen })]
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
  if (holdsFrozen) startHolding(context, database, ports, processing)
  lifecycle.add(
    createSweepingWorker({
      ...delivering,
      ...failing('sweeping'),
      orphanAgeSeconds: config.ORPHAN_AGE_SECONDS,
      holdsFrozen,
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

/** Follows which clients are frozen: their payments are held, and go on afterwards. */
function startHolding(
  { logger, lifecycle }: Context,
  database: Resources['database'],
  { frozenClients, onFreezesChanged }: Pick<DomainPorts, 'frozenClients' | 'onFreezesChanged'>,
  processing: Worker
): void {
  const following = createFrozenClientsWorker({
    frozenClients,
    keep: (clients) => keepFrozenClients(database, clients),
    logger,
    onUnfrozen: () => {
      processing.wake()
    }
  })
  lifecycle.add(following)
  onFreezesChanged.push(() => {
    following.wake()
  })
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
  const { PURGE_INTERVAL_SECONDS: intervalSeconds } = config
  if (intervalSeconds === 0) return
  const repository = createPurgeRepository(database, {
    quote: purgeQuotes,
    'incoming-payment': purgeIncomingPayments,
    event: createPurgeOfEvents(deliveredNumber),
    'webhook-attempt': purgeAttempts
  })
  const purging = { repository, clock, ...counters }
  const purges = [
    createPurge({ ...purging, kinds: EXPIRING_KINDS, retentionDays: config.PURGE_RETENTION_DAYS }),
    createPurge({
      ...purging,
      kinds: ['event', 'webhook-attempt'],
      retentionDays: config.EVENT_RETENTION_DAYS
    })
  ]
  const onBatchFailed = (): void => {
    counters.countFailedBatch('purge')
  }
  // Workers of their own: where one kind cannot be deleted, the others are.
  for (const purgeBatch of purges)
    lifecycle.add(createPurgeWorker({ purgeBatch, intervalSeconds, logger, onBatchFailed }))
}
