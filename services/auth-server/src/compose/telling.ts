import type { CompleteEvents, ToldEvent } from '@open-payments-server/events'
import { startTelling as tell, type Telling } from '@open-payments-server/service-kit/webhooks'
import { type AccessItem, walletAddressesOf } from '../domain/access.js'
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
  { tokenMaker, configuredInteraction }: Pick<DomainPorts, 'tokenMaker' | 'configuredInteraction'>,
  counters: Pick<Counters, 'countWebhookAttempt' | 'countFailedBatch'>
): Telling {
  const complete: CompleteEvents = (events) => completeEvents(events, { database, ...tokenMaker })
  const told = {
    eventTypes: EVENT_TYPES,
    complete,
    walletAddressesOf: ({ data }: ToldEvent) => {
      const { access = [] } = (data ?? {}) as { readonly access?: readonly AccessItem[] }
      return walletAddressesOf(access, configuredInteraction)
    }
  }
  return tell({ ...context, ...told, database, sharedStore, counters })
}
