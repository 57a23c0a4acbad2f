import type { SharedStore } from './shared-store.js'

/** Operations of a shared store whose errors are counted. */
export const COUNTED_OPERATIONS = ['mark', 'publish', 'subscribe'] as const

/** Counts an operation that failed. */
export type StoreErrorCounter = (operation: (typeof COUNTED_OPERATIONS)[number]) => void

/** The same store, counting failures. */
export function countErrors(store: SharedStore, count: StoreErrorCounter): SharedStore {
  const counted = async <Result>(
    operation: Parameters<StoreErrorCounter>[0],
    result: Promise<Result>
  ): Promise<Result> => {
    try {
      return await result
    } catch (error) {
      count(operation)
      throw error
    }
  }
  return {
    markOnce: (...asked) => counted('mark', store.markOnce(...asked)),
    wasMarked: (...asked) => counted('mark', store.wasMarked(...asked)),
    publish: (...asked) => counted('publish', store.publish(...asked)),
    subscribe: (...asked) => counted('subscribe', store.subscribe(...asked)),
    check: (...asked) => store.check(...asked),
    close: () => store.close()
  }
}
