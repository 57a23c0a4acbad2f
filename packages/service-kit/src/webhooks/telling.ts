import { createEventNews, type EventNews } from '@open-payments-server/events'
import type { SharedStore } from '@open-payments-server/shared-store'
import { withEndpointEvents } from '@open-payments-server/webhooks'
import { openWebhooks, type Webhooks, type WebhooksContext } from './open-webhooks.js'

/** How a service tells what happened. */
export interface Telling extends Pick<WebhooksContext, 'news' | 'complete'> {
  /** All types of events. */
  readonly types: ReadonlySet<string>
  readonly webhooks: Webhooks
}

/** What telling needs of its service. */
export interface TellingContext extends Omit<WebhooksContext, 'news'> {
  readonly sharedStore: SharedStore
  /** Every type of event that the service tells of. */
  readonly eventTypes: Readonly<Record<string, string>>
}

/** Starts telling what happened: to readers, and to webhook endpoints. */
export function startTelling(context: TellingContext): Telling {
  const news: EventNews = createEventNews(context)
  context.lifecycle.add(news)
  const complete = withEndpointEvents(context.complete)
  const webhooks = openWebhooks({ ...context, news, complete })
  return { news, complete, types: new Set(Object.keys(context.eventTypes)), webhooks }
}
