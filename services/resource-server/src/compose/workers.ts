import { createPublishingWorker } from '@open-payments-server/events'
import { startWorker, type Worker } from '@open-payments-server/runtime'
import {
  createPurge,
  createPurgeRepository,
  createPurgeWorker
} from '@open-payments-server/service-kit/purge'
import { deliveredNumber, purgeAttempts } from '@open-payments-server/webhooks'
import { type FailedBatchCounter, EXPIRING_KINDS } from '../domain/counters.js'
import type { EventType } from '../domain/event-types.js'
import type { PaymentTerms } from '../domain/outgoing-payment.js'
import type { PaymentCounters } from '../domain/payment-counters.js'
import type { OutgoingMethod } from '../domain/outgoing-method.js'
import { createBeginSending } from '../features/process-outgoing-payments/begin-sending.js'
import { createSentPayments } from '../features/process-outgoing-payments/send-payments.js'
import { AnsweredPayments } from '../domain/answered-payments.js'
import { createLocalPayments } from '../features/process-outgoing-payments/local-payments.js'
import { PaymentHours } from '../features/show-payments/payment-hours.js'
import { createPurgeOfEvents, publishEvents } from '../modules/events/index.js'
import { keepFrozenClients } from '../modules/frozen-clients/index.js'
import { purgeIncomingPayments } from '../modules/incoming-payments/index.js'
import { createProviderAccounts } from '../modules/ledger/index.js'
import { purgeQuotes } from '../modules/quotes/index.js'
import { createClosingWorker } from '../workers/closing-worker.js'
import { createFrozenClientsWorker } from '../workers/frozen-clients-worker.js'
import {
  createApprovalWorker,
  createDeliveryWorker,
  createProcessingWorker,
  createSweepingWorker
} from '../workers/payment-workers.js'
import { createLostPaymentsWorker } from '../workers/lost-payments-worker.js'
import { createExpiryWorker } from '../workers/expiry-worker.js'
import { createSendingWorker } from '../workers/sending-worker.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'

/** How often what happened to payments is written to its hour, in milliseconds. */
const HOURS_WRITTEN_MS = 5_000

/** Called by features that create work for the workers. */
export type Wakers = ReturnType<typeof startWorkers>

/** All background work: started before the listeners, and stopped after them. */
export function startWorkers(
  context: Context,
  { database, databaseWatch, keepsCommits, sharedStore }: Resources,
  {
    urls,
    grantLimits,
    outgoingMethod,
    ...ports
  }: DomainPorts & { readonly outgoingMethod: OutgoingMethod | undefined },
  counters: PaymentCounters & Pick<Counters, 'countFailedBatch' | 'countPublished'>
) {
  const { config, logger, lifecycle } = context
  const pollSeconds = config.PROCESSING_POLL_SECONDS
  const holdsFrozen = config.FREEZE_PENDING_PAYMENTS === 'hold'
  const delivering = { database, keepsCommits, grantLimits, logger, counters }
  const failing = (worker: Parameters<FailedBatchCounter>[0]) => ({
    onBatchFailed: () => {
      counters.countFailedBatch(worker)
    }
  })
  const delivery = createDeliveryWorker({
    ...delivering,
    ...failing('delivery'),
    callDeadlineMs: config.AUTH_GRPC_DEADLINE_MS,
    pollSeconds
  })
  lifecycle.add(delivery)
  const onReservationEnded = (): void => {
    delivery.wake()
  }
  const told = { ...counters, ...failing('publishing') }
  const publishing = startPublishing(context, { database, sharedStore }, told)
  const onEventsAppended = (): void => {
    publishing.wake()
  }
  lifecycle.add(createExpiryWorker({ ...failing('expiry'), ...context, database, onEventsAppended }))
  lifecycle.add(createClosingWorker({ ...failing('closing'), ...context, database }))
  const onPaymentsEnded = (): void => {
    onReservationEnded()
    onEventsAppended()
  }
  const localPayments = createLocalPayments({ ...context, database, urls, counters, holdsFrozen })
  const processing = createProcessingWorker({
    ...failing('processing'),
    localPayments,
    pollSeconds,
    logger,
    onPaymentsEnded
  })
  lifecycle.add(processing)
  const sending =
    outgoingMethod &&
    startSending(context, { database, grantLimits, outgoingMethod, counters, holdsFrozen, onPaymentsEnded })
  const answeredPayments = startReporting(context, databaseWatch, {
    ...delivering,
    ...failing('lost-payments')
  })
  const onUnfrozen = (): void => {
    processing.wake()
    sending?.wake()
  }
  if (holdsFrozen) startHolding(context, database, ports, onUnfrozen)
  startSweeping(context, { ...delivering, ...failing('sweeping'), holdsFrozen, onReservationEnded })
  const onPaymentCreated = (terms?: Pick<PaymentTerms, 'sending'>): void => {
    if (terms?.sending === undefined) processing.wake()
    if (terms === undefined || terms.sending !== undefined) sending?.wake()
    onEventsAppended()
  }
  return { onPaymentCreated, onReservationEnded, onEventsAppended, answeredPayments }
}

/** Publishes events that were appended. */
function startPublishing(
  { clock, logger, lifecycle }: Context,
  { database, sharedStore }: Pick<Resources, 'database' | 'sharedStore'>,
  counters: Pick<Counters, 'countPublished'> & { readonly onBatchFailed: () => void }
): Worker {
  const hours = new PaymentHours({ clock })
  // Stopped after the publishing, of which it counts.
  lifecycle.add(
    startWorker({
      name: 'payment hours',
      pollMs: HOURS_WRITTEN_MS,
      logger,
      onBatchFailed: counters.onBatchFailed,
      runBatch: async () => {
        await hours.write(database)
        return false
      }
    })
  )
  lifecycle.add({ name: 'last payment hours', stop: () => hours.write(database) })
  const publishing = createPublishingWorker({
    onBatchFailed: counters.onBatchFailed,
    publish: () => publishEvents(database),
    onPublished: (type, count) => {
      counters.countPublished(type as EventType, count)
      hours.count(type as EventType, count)
    },
    sharedStore,
    logger
  })
  lifecycle.add(publishing)
  return publishing
}

/** Reports payments that a promoted server does not have. Returns what is to be told of those that clients are answered. */
function startReporting(
  { clock, logger, lifecycle }: Context,
  databaseWatch: Resources['databaseWatch'],
  parts: Omit<Parameters<typeof createLostPaymentsWorker>[0], 'answered' | 'logger'>
): AnsweredPayments {
  const answered = new AnsweredPayments(clock)
  const reporting = createLostPaymentsWorker({ ...parts, answered, logger })
  lifecycle.add(reporting)
  databaseWatch.onPromoted(() => {
    reporting.wake()
  })
  return answered
}

/** Releases reservations without a payment. */
function startSweeping(
  { config, lifecycle, clock, random }: Context,
  parts: Omit<
    Parameters<typeof createSweepingWorker>[0],
    'clock' | 'random' | 'orphanAgeSeconds' | 'intervalSeconds'
  >
): void {
  lifecycle.add(
    createSweepingWorker({
      ...parts,
      clock,
      random,
      orphanAgeSeconds: config.ORPHAN_AGE_SECONDS,
      intervalSeconds: config.SWEEP_INTERVAL_SECONDS
    })
  )
}

/** Sends payments to other providers. */
function startSending(
  context: Context,
  {
    grantLimits,
    outgoingMethod,
    counters,
    onPaymentsEnded,
    ...parts
  }: Pick<Resources, 'database'> & {
    readonly grantLimits: DomainPorts['grantLimits']
    readonly outgoingMethod: OutgoingMethod
    readonly counters: PaymentCounters & Pick<Counters, 'countFailedBatch'>
    readonly holdsFrozen: boolean
    readonly onPaymentsEnded: () => void
  }
): Worker {
  const { config, lifecycle } = context
  const dependencies = { ...context, ...parts, counters, providerAccounts: createProviderAccounts() }
  const sentBy = { method: outgoingMethod, reservations: grantLimits }
  const sending = createSendingWorker({
    ...context,
    beginSending: createBeginSending(dependencies),
    sentPayments: createSentPayments({ ...dependencies, ...sentBy }),
    pollSeconds: config.PROCESSING_POLL_SECONDS,
    onBatchFailed: () => {
      counters.countFailedBatch('sending')
    },
    onPaymentsEnded
  })
  lifecycle.add(sending)
  return sending
}

/** Follows which clients are frozen: their payments are held, and go on afterwards. */
function startHolding(
  { logger, lifecycle }: Context,
  database: Resources['database'],
  { frozenClients, onFreezesChanged }: Pick<DomainPorts, 'frozenClients' | 'onFreezesChanged'>,
  onUnfrozen: () => void
): void {
  const following = createFrozenClientsWorker({
    frozenClients,
    keep: (clients) => keepFrozenClients(database, clients),
    logger,
    onUnfrozen
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
