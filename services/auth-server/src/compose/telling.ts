import type { CompleteEvents, ToldEvent } from '@open-payments-server/events'
import { startTelling as tell, type Telling } from '@open-payments-server/service-kit/webhooks'
import { EVENT_TYPES } from '../domain/event-types.js'
import type { TokenMaker } from '../domain/new-token.js'
import { completeEvents } from '../features/tell-events/complete-events.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { Resources } from './resources.js'

/** Starts telling what happened here. */
export function startTelling(
  context: Context,
  { database, sharedStore }: Pick<Resources, 'database' | 'sharedStore'>,
  { tokenMaker }: { readonly tokenMaker: Pick<TokenMaker, 'addresses'> },
  counters: Pick<Counters, 'countWebhookAttempt' | 'countFailedBatch'>
): Telling {
  const complete: CompleteEvents = (events) => completeEvents(events, { database, ...tokenMaker })
  const told = { eventTypes: EVENT_TYPES, complete, walletAddressesOf }
  return tell({ ...context, ...told, database, sharedStore, counters })
}

/** A grant concerns the wallet addresses that its access names. */
function walletAddressesOf({ data }: ToldEvent): readonly string[] {
  const { access = [] } = (data ?? {}) as { readonly access?: readonly { readonly identifier?: string }[] }
  return access.flatMap(({ identifier }) => identifier ?? [])
}
