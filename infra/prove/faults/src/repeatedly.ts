import { setTimeout as delay } from 'node:timers/promises'

/**
 * Does something again and again, with a pause in between.
 *
 * @returns ends it, and throws what it threw
 */
export function repeatedly(work: () => Promise<unknown>, pauseMs: number): () => Promise<void> {
  const ended = new AbortController()
  const run = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await work()
      await delay(pauseMs)
    }
  }
  const running = run()
  running.catch(() => undefined)
  return async () => {
    ended.abort()
    await running
  }
}
