import { assertDescribed } from '@open-payments-server/events'
import type { events } from '@open-payments-server/proto'
import { EVENT_CATALOGUE } from '../../src/events.js'

/**
 * Checks an event that was told over gRPC against the published schema of its type.
 *
 * @throws Error naming what is not as described
 */
export function assertAsDescribed({ id, type, time, subject, sequence, data }: events.Event): void {
  const told = { id, type, time: time?.toISOString(), subject, sequence: Number(sequence) }
  assertDescribed({ ...told, data: JSON.parse(data) as unknown }, EVENT_CATALOGUE)
}
