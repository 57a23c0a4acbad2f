import type { Undelivered } from './leases.js'

/** The events that an endpoint must still get, in their order for each subject. */
export interface Backlog {
  /** Number of events. */
  readonly size: number
  /** Whether there is an event of a subject: later ones wait behind it. */
  has(subjectId: string): boolean
  /** The events of each subject whose first one is due, in order. */
  due(nowMs: number): readonly (readonly Undelivered[])[]
  /** When the next subject is due; undefined when there is none. */
  nextDueAtMs(): number | undefined
  /** Adds an event after those of its subject, or replaces it. */
  put(event: Undelivered): void
  /** Removes an event. The next one of its subject is due at once. */
  remove(event: Pick<Undelivered, 'number' | 'subjectId'>): void
  /** Lets no subject be due later than that. @returns those that changed */
  hasten(dueAtMs: number): readonly Undelivered[]
}

/** @param undelivered in the order of their numbers */
export function createBacklog(undelivered: readonly Undelivered[]): Backlog {
  const subjects = new Map<string, Undelivered[]>()
  let size = 0
  const put = (event: Undelivered): void => {
    const queue = subjects.get(event.subjectId) ?? []
    subjects.set(event.subjectId, queue)
    const index = queue.findIndex(({ number }) => number === event.number)
    if (index === -1) queue.push(event)
    else queue[index] = event
    if (index === -1) size += 1
  }
  undelivered.forEach(put)
  const dueAtOf = ([first]: readonly Undelivered[]): number => first?.dueAtMs ?? 0
  return {
    get size() {
      return size
    },
    has: (subjectId) => subjects.has(subjectId),
    due: (nowMs) =>
      [...subjects.values()].filter((queue) => dueAtOf(queue) <= nowMs).map((queue) => [...queue]),
    nextDueAtMs() {
      let next: number | undefined
      for (const queue of subjects.values()) next = Math.min(next ?? Infinity, dueAtOf(queue))
      return next
    },
    put,
    remove({ number, subjectId }) {
      const queue = subjects.get(subjectId) ?? []
      const index = queue.findIndex((event) => event.number === number)
      if (index === -1) return
      queue.splice(index, 1)
      size -= 1
      if (queue.length === 0) subjects.delete(subjectId)
    },
    hasten(dueAtMs) {
      const hastened: Undelivered[] = []
      for (const queue of subjects.values()) {
        const [first] = queue
        if (first === undefined || dueAtOf(queue) <= dueAtMs) continue
        queue[0] = { ...first, dueAtMs }
        hastened.push(queue[0])
      }
      return hastened
    }
  }
}
