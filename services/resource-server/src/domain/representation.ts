/** Whether `updatedAt` is shown where the published API has no such field. */
export type Representation = 'full' | 'published'

/**
 * Chooses the representation for the four answers that the published API closes: list incoming, complete incoming, get
 * outgoing, list outgoing. `Request` is the transport's type.
 */
export type ChooseRepresentation<Request> = (request: Request) => Representation
