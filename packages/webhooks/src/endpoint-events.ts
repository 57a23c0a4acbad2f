import type { CompleteEvents, EventContent, StoredEvent } from '@open-payments-server/events'

/** Types of events of endpoints, and when they happen. */
export const ENDPOINT_EVENT_TYPES = {
  'webhook_endpoint.disabled':
    'An endpoint gets no more events: it took nothing for three days, or answered 410.'
} as const satisfies Readonly<Record<string, string>>

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
  return type in ENDPOINT_EVENT_TYPES
}

function endpointContent({ subjectId, change }: StoredEvent): EventContent {
  return { subject: `urn:uuid:${subjectId}`, data: { id: subjectId, ...change } }
}
