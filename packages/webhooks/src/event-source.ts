import type { RawQueries } from '@open-payments-server/database'
import {
  type CompleteEvents,
  readEvents,
  readEventsByNumber,
  tellEvents,
  type ToldEvent
} from '@open-payments-server/events'
import { LRUCache } from 'lru-cache'

/** Maximum number of events that are read together. */
export const READ_TOGETHER_MAX = 100
/** Maximum number of reads that are kept: endpoints that all got everything read the same. */
const READS_KEPT_MAX = 64

/** Some events that follow a number. */
export interface EventBatch {
  readonly events: readonly ToldEvent[]
  /** Where a reader stands after them. */
  readonly toNumber: bigint
}

/** Events with what they tell of, read once for all endpoints. */
export interface EventSource {
  /** Reads events after a number, of which there must be some. */
  after(number: bigint): Promise<EventBatch>
  /** Reads events by their numbers; those that are no longer kept are missing. */
  numbered(numbers: readonly bigint[]): Promise<ReadonlyMap<bigint, ToldEvent>>
}

/** Creates a source of events. */
export function createEventSource(database: RawQueries, complete: CompleteEvents): EventSource {
  const reads = new LRUCache<bigint, Promise<EventBatch>>({ max: READS_KEPT_MAX })
  const read = async (afterNumber: bigint): Promise<EventBatch> => {
    const { events, toNumber } = await readEvents(database, {
      afterNumber,
      types: [],
      countMax: READ_TOGETHER_MAX
    })
    return { events: await tellEvents(events, complete), toNumber }
  }
  return {
    async after(number) {
      const kept = reads.get(number)
      if (kept !== undefined) return kept
      const reading = read(number)
      reads.set(number, reading)
      try {
        return await reading
      } catch (error) {
        reads.delete(number)
        throw error
      }
    },
    async numbered(numbers) {
      const told = await tellEvents(await readEventsByNumber(database, numbers), complete)
      return new Map(told.map((event) => [event.number, event]))
    }
  }
}
