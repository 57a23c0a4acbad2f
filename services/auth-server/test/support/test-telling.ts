import { createEventNews } from '@open-payments-server/events'
import { createPostClient } from '@open-payments-server/http-client'
import type { Logger } from '@open-payments-server/runtime'
import type { Telling } from '@open-payments-server/service-kit/webhooks'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { EVENT_TYPES } from '../../src/domain/event-types.js'
import { createAddresses } from '../../src/domain/urls.js'
import { completeEvents } from '../../src/features/tell-events/complete-events.js'
import type { Queries } from '../../src/modules/database.js'

/** Tells events to whoever asks. Nothing is posted anywhere. */
export function createTestTelling(database: Queries, logger: Logger): Telling {
  const client = createPostClient({
    privateNetworks: [],
    timeoutMs: 1_000,
    userAgent: 'test',
    connectionsMax: 1
  })
  const addresses = createAddresses('https://auth.test')
  return {
    news: createEventNews({ sharedStore: createInProcessStore(), logger }),
    types: new Set(Object.keys(EVENT_TYPES)),
    complete: (events) => completeEvents(events, { database, addresses }),
    webhooks: { client, secrets: undefined }
  }
}
