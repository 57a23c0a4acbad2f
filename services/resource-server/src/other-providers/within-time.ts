import { ProviderFailure } from './provider-failure.js'

/**
 * Gives some work an amount of time.
 *
 * @param timeoutMs how much, in milliseconds
 * @param outer ends it earlier; it then fails with the signal's reason
 * @param work is told by the signal when its result is no longer wanted
 * @throws ProviderFailure `unreachable` when the time is over; what the work fails with
 */
export async function withinTime<Result>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>
): Promise<Result> {
  outer?.throwIfAborted()
  const abort = new AbortController()
  const over = new Promise<never>((_, reject) => {
    abort.signal.addEventListener('abort', () => {
      reject(abort.signal.reason as Error)
    })
  })
  const timer = setTimeout(() => {
    abort.abort(
      new ProviderFailure({
        kind: 'unreachable',
        field: 'time limit',
        message: 'another provider did not answer in time'
      })
    )
  }, timeoutMs)
  const onOuterAbort = (): void => {
    abort.abort(outer?.reason)
  }
  outer?.addEventListener('abort', onOuterAbort, { once: true })
  try {
    return await Promise.race([work(abort.signal), over])
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', onOuterAbort)
  }
}
