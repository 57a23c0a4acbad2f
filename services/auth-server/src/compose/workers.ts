import { createPublishingWorker } from '@open-payments-server/events'
import {
  createPurge,
  createPurgeRepository,
  createPurgeWorker
} from '@open-payments-server/service-kit/purge'
import { deliveredNumber, purgeAttempts } from '@open-payments-server/webhooks'
import { ENDED_KINDS } from '../domain/counters.js'
import type { EventType } from '../domain/event-types.js'
import { createPurgeStatements } from '../features/purge-grants/purge-statements.js'
import { createPurgeOfEvents, publishEvents } from '../modules/events/index.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { Resources } from './resources.js'

const SECONDS_PER_HOUR = 3_600

/** How often events are looked for that nothing announced, in milliseconds. */
const PUBLISHING_POLL_MS = 1_000

/** Called by features that append events. */
export type Wakers = ReturnType<typeof startPublishing>

/** Publishes events. */
export function startPublishing(
  { logger, lifecycle }: Context,
  { database, sharedStore }: Pick<Resources, 'database' | 'sharedStore'>,
  counters: Pick<Counters, 'countFailedBatch' | 'countPublished'>
) {
  const publishing = createPublishingWorker({
    publish: () => publishEvents(database),
    onPublished: (type, count) => {
      counters.countPublished(type as EventType, count)
    },
    sharedStore,
    pollMs: PUBLISHING_POLL_MS,
    logger,
    onBatchFailed: () => {
      counters.countFailedBatch('publishing')
    }
  })
  lifecycle.add(publishing)
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
