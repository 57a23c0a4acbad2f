import { createEventNews } from '@open-payments-server/events'
import { createPostClient } from '@open-payments-server/http-client'
import type { Logger } from '@open-payments-server/runtime'
import { createInProcessStore } from '@open-payments-server/shared-store'
import type { Telling } from '../../src/compose/telling.js'
import { EVENT_TYPES } from '../../src/domain/event-types.js'

/** For tests in which nobody is told of events. */
export function createUntold(logger: Logger): Telling {
  const client = createPostClient({
    privateNetworks: [],
    timeoutMs: 1_000,
    userAgent: 'test',
    connectionsMax: 1
  })
  return {
    news: createEventNews({ sharedStore: createInProcessStore(), logger }),
    types: new Set(Object.keys(EVENT_TYPES)),
    complete: () => Promise.reject(new Error('nobody is told of events')),
    webhooks: { client, secrets: undefined }
  }
}
