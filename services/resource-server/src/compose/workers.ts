import { createPublishingWorker } from '@open-payments-server/events'
import type { Worker } from '@open-payments-server/runtime'
import {
  createPurge,
  createPurgeRepository,
  createPurgeWorker
} from '@open-payments-server/service-kit/purge'
import { type FailedBatchCounter, PURGED_KINDS } from '../domain/counters.js'
import type { PaymentCounters } from '../domain/payment-counters.js'
import { createLocalPaymentMethod } from '../features/process-outgoing-payments/local-payment-method.js'
import { publishEvents } from '../modules/events/index.js'
import { keepFrozenClients } from '../modules/frozen-clients/index.js'
import { purgeIncomingPayments } from '../modules/incoming-payments/index.js'
import { purgeQuotes } from '../modules/quotes/index.js'
import { createFrozenClientsWorker } from '../workers/frozen-clients-worker.js'
import {
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
  { urls, grantLimits, ...ports }: DomainPorts,
  counters: PaymentCounters & { readonly countFailedBatch: FailedBatchCounter }
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
    sharedStore,
    pollMs: pollSeconds * 1_000,
    logger
  })
  lifecycle.add(publishing)
  const onEventsAppended = (): void => {
    publishing.wake()
  }
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
