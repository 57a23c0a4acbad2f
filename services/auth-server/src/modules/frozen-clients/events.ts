import type { FreezeWire } from '../../domain/frozen-clients.js'
import type { Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'

/** A client as an event tells of it: its name, and what an operator ordered. */
export interface ToldClient {
  /** See `nameClient`. */
  readonly client: string
  readonly freeze: FreezeWire
}

/**
 * Reads clients of whose freezes events tell.
 *
 * @returns the client of each event, in their order
 */
export async function readToldClients(
  on: Queries,
  events: readonly StoredEvent[]
): Promise<readonly (ToldClient | undefined)[]> {
  if (events.length === 0) return []
  const ids = [...new Set(events.map(({ subjectId }) => subjectId))]
  const found = await on.clientFreeze.findMany({ where: { id: { in: ids } } })
  const clientOf = new Map(found.map(({ id, client }) => [id, client]))
  return events.map(({ subjectId, change }) => {
    const client = clientOf.get(subjectId)
    if (client === undefined || change === undefined) return undefined
    return { client, freeze: change as unknown as FreezeWire }
  })
}
