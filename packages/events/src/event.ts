/** A published event, as it is stored: what it tells of is read when it is told. */
export interface StoredEvent {
  /** Place among all events of its service, in the order of their commits. Some numbers are left out. */
  readonly number: bigint
  /** Id (UUIDv7): the same wherever and however often it is told. */
  readonly id: string
  /** What happened, such as `outgoing_payment.completed`. */
  readonly type: string
  readonly occurredAtMs: number
  /** Id (UUID) of the resource that it tells of. */
  readonly subjectId: string
  /** Those columns of the resource that may change later, as they were then; undefined when it was just created. */
  readonly change: Readonly<Record<string, unknown>> | undefined
  /**
   * `traceparent` (W3C Trace Context) of the statement that committed it, which may have been that of several requests; undefined
   * outside of any trace.
   */
  readonly traceParent: string | undefined
}

/** What an event tells of. */
export interface EventContent {
  /** URL of the resource. */
  readonly subject: string
  /** The resource as its API showed it then; null once it is no longer kept. */
  readonly data: object | null
  /** URLs of the wallet addresses that it concerns, besides that which `data` names. It is told to no others. */
  readonly walletAddresses?: readonly string[]
}

/** An event as it is told. */
export type ToldEvent = StoredEvent & EventContent

/**
 * Completes events with what they tell of: reads the resources, and renders each as its API showed it then.
 *
 * @returns the content of each, in their order
 */
export type CompleteEvents = (events: readonly StoredEvent[]) => Promise<readonly EventContent[]>

/** Completes events, in their order. */
export async function tellEvents(
  events: readonly StoredEvent[],
  complete: CompleteEvents
): Promise<readonly ToldEvent[]> {
  const contents = await complete(events)
  return events.map((event, index) => {
    const content = contents[index]
    if (content === undefined) throw new Error('an event was not completed')
    return { ...event, ...content }
  })
}
