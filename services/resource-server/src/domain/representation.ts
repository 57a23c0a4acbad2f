/**
 * Whether what the published API does not have is shown: `updatedAt`, refunds, and the `failureReason` of an outgoing payment.
 */
export type Representation = 'full' | 'published'

/**
 * Chooses the representation for the four answers that the published API closes: list incoming, complete incoming, get
 * outgoing, list outgoing. `Request` is the transport's type.
 */
export type ChooseRepresentation<Request> = (request: Request) => Representation

/** An instant on the wire: ISO 8601 in UTC, with milliseconds. */
export function renderTime(ms: number): string {
  return new Date(ms).toISOString()
}
