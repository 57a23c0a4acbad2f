import { createPublishingWorker } from '@open-payments-server/events'
import { startWorker } from '@open-payments-server/runtime'
import {
  createPurge,
  createPurgeRepository,
  createPurgeWorker
} from '@open-payments-server/service-kit/purge'
import { deliveredNumber, purgeAttempts } from '@open-payments-server/webhooks'
import { ENDED_KINDS } from '../domain/counters.js'
import type { EventType } from '../domain/event-types.js'
import { tellExpiringGrants } from '../features/tell-expiring-grants/tell-expiring-grants.js'
import { createPurgeStatements } from '../features/purge-grants/purge-statements.js'
import { createPurgeOfEvents, publishEvents } from '../modules/events/index.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { Resources } from './resources.js'

const SECONDS_PER_HOUR = 3_600

/** How often grants are looked for that expire soon, in milliseconds. */
const EXPIRIES_POLL_MS = 60_000

/** Called by features that append events. */
export type Wakers = ReturnType<typeof startPublishing>

/** Publishes events, and tells of what comes with time. */
export function startPublishing(
  { logger, lifecycle, clock }: Context,
  { database, sharedStore }: Pick<Resources, 'database' | 'sharedStore'>,
  counters: Pick<Counters, 'countFailedBatch' | 'countPublished'>
) {
  const publishing = createPublishingWorker({
    publish: () => publishEvents(database),
    onPublished: (type, count) => {
      counters.countPublished(type as EventType, count)
    },
    sharedStore,
    logger,
    onBatchFailed: () => {
      counters.countFailedBatch('publishing')
    }
  })
  lifecycle.add(publishing)
  lifecycle.add(
    startWorker({
      name: 'grant expiries',
      pollMs: EXPIRIES_POLL_MS,
      logger,
      runBatch: () => tellExpiringGrants({ database, clock }),
      onBatchFailed: () => {
        counters.countFailedBatch('expiries')
      }
    })
  )
  return {
    onEventsAppended: (): void => {
      publishing.wake()
    }
  }
}

/** Deletes ended data, unless disabled by settings. */
export function startPurge(
  { config, logger, lifecycle, clock }: Context,
  { database }: Pick<Resources, 'database'>,
  counters: Pick<Counters, 'countPurged' | 'countFailedBatch'>
): void {
  const { PURGE_INTERVAL_SECONDS: intervalSeconds } = config
  if (intervalSeconds === 0) return
  const statements = createPurgeStatements({
    undecidedSeconds: config.PURGE_UNDECIDED_HOURS * SECONDS_PER_HOUR,
    unconsentedSeconds: config.PURGE_UNCONSENTED_HOURS * SECONDS_PER_HOUR
  })
  const repository = createPurgeRepository(database, {
    ...statements,
    event: createPurgeOfEvents(deliveredNumber),
    'webhook-attempt': purgeAttempts
  })
  const purging = { repository, clock, ...counters }
  const purges = [
    createPurge({ ...purging, kinds: ENDED_KINDS, retentionDays: config.PURGE_RETENTION_DAYS }),
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
