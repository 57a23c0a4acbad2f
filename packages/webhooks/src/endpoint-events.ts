import type { CompleteEvents, EventContent, StoredEvent } from '@open-payments-server/events'
import { z } from 'zod'
import { DISABLED_CAUSES } from './endpoint.js'

/** What an event of an endpoint tells. */
export const ENDPOINT_SCHEMA = z.strictObject({
  id: z.uuid(),
  cause: z.enum(DISABLED_CAUSES).describe('Why it gets no more events.')
})

const EXAMPLE_ID = '4f1c2d3e-7b8a-4c9d-8e0f-1a2b3c4d5e6f'

/** What an event of an endpoint could tell. */
export const EXAMPLE_OF_ENDPOINT = {
  subject: `urn:uuid:${EXAMPLE_ID}`,
  data: { id: EXAMPLE_ID, cause: 'failing' }
} as const

/**
 * Completes events of endpoints too: their subject is a URN, because only operators read endpoints, over gRPC.
 *
 * @param complete completes all other events
 */
export function withEndpointEvents(complete: CompleteEvents): CompleteEvents {
  return async (events) => {
    const others = events.filter((event) => !isOfEndpoint(event))
    const contents = await complete(others)
    const contentOf = new Map(others.map((event, index) => [event, contents[index]]))
    return events.map((event) => contentOf.get(event) ?? endpointContent(event))
  }
}

function isOfEndpoint({ type }: StoredEvent): boolean {
  return type.startsWith('webhook_endpoint.')
}

function endpointContent({ subjectId, change }: StoredEvent): EventContent {
  return { subject: `urn:uuid:${subjectId}`, data: { id: subjectId, ...change } }
}
