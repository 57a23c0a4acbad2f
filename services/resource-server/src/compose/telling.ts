import {
  type CompleteEvents,
  createEventNews,
  type EventNews,
  type ToldEvent
} from '@open-payments-server/events'
import { openWebhooks, type Webhooks } from '@open-payments-server/service-kit/webhooks'
import { withEndpointEvents } from '@open-payments-server/webhooks'
import { EVENT_TYPES } from '../domain/event-types.js'
import { completeEvents } from '../features/tell-events/complete-events.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'

/** How this service tells what happened. */
export interface Telling {
  /** Says when there are new events. */
  readonly news: EventNews
  /** All types of events. */
  readonly types: ReadonlySet<string>
  readonly complete: CompleteEvents
  readonly webhooks: Webhooks
}

/** Starts telling what happened. */
export function startTelling(
  context: Context,
  { database, sharedStore }: Pick<Resources, 'database' | 'sharedStore'>,
  { urls }: Pick<DomainPorts, 'urls'>,
  counters: Pick<Counters, 'countWebhookAttempt' | 'countFailedBatch'>
): Telling {
  const news = createEventNews({ ...context, sharedStore })
  context.lifecycle.add(news)
  const complete = withEndpointEvents((events) => completeEvents(events, { database, urls }))
  const webhooks = openWebhooks({ ...context, database, news, complete, walletAddressesOf, counters })
  const types = new Set(Object.keys(EVENT_TYPES))
  return { news, types, complete, webhooks }
}

/** Payments and quotes belong to one. */
function walletAddressesOf({ data }: ToldEvent): readonly string[] {
  return data !== null && 'walletAddress' in data && typeof data.walletAddress === 'string'
    ? [data.walletAddress]
    : []
}
