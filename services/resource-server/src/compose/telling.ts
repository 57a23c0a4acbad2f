import type { CompleteEvents, ToldEvent } from '@open-payments-server/events'
import { startTelling as tell, type Telling } from '@open-payments-server/service-kit/webhooks'
import { EVENT_TYPES } from '../domain/event-types.js'
import { completeEvents } from '../features/tell-events/complete-events.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'

/** Starts telling what happened here. */
export function startTelling(
  context: Context,
  { database, sharedStore }: Pick<Resources, 'database' | 'sharedStore'>,
  { urls }: Pick<DomainPorts, 'urls'>,
  counters: Pick<Counters, 'countWebhookAttempt' | 'countFailedBatch'>
): Telling {
  const complete: CompleteEvents = (events) => completeEvents(events, { database, urls })
  const told = { eventTypes: EVENT_TYPES, complete, walletAddressesOf }
  return tell({ ...context, ...told, database, sharedStore, counters })
}

/** Payments, quotes and keys belong to one, which they name. */
function walletAddressesOf({ data, walletAddresses = [] }: ToldEvent): readonly string[] {
  return data !== null && 'walletAddress' in data && typeof data.walletAddress === 'string'
    ? [data.walletAddress, ...walletAddresses]
    : walletAddresses
}
