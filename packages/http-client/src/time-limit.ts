import { OutgoingRequestError } from './errors.js'

/** A limit of the time that a request may take. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Rejects when the limit has passed. */
  readonly passed: Promise<never>
  clear(): void
}

/**
 * Aborts after a time, or when the caller does.
 *
 * @param mayHaveLeft whether anything of the request may have left by now
 * @param departureMs after what time it aborts already if nothing has
 */
export function startTimeLimit(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  mayHaveLeft: () => boolean,
  departureMs = timeoutMs
): TimeLimit {
  const abort = new AbortController()
  const onOuterAbort = (): void => {
    abort.abort(outer?.reason)
  }
  const pass = (): void => {
    abort.abort(
      new OutgoingRequestError({
        reason: 'timeout',
        message: 'Not answered in time',
        isUnsent: !mayHaveLeft()
      })
    )
  }
  const timer = setTimeout(pass, timeoutMs)
  const departureTimer = setTimeout(() => {
    if (!mayHaveLeft()) pass()
  }, departureMs)
  outer?.addEventListener('abort', onOuterAbort, { once: true })
  const passed = new Promise<never>((_, reject) => {
    abort.signal.addEventListener('abort', () => {
      reject(abort.signal.reason as Error)
    })
  })
  return {
    signal: abort.signal,
    passed,
    clear() {
      clearTimeout(timer)
      clearTimeout(departureTimer)
      outer?.removeEventListener('abort', onOuterAbort)
    }
  }
}
