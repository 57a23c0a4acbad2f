/**
 * Waits for an answer no longer than `timeoutMs`. What comes later is dropped, a failure included.
 *
 * @param what who is waited for, as the error names it
 * @throws Error when the time is over; what the promise rejects with
 */
export function within<Value>(timeoutMs: number, what: string, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`${what} did not answer within ${timeoutMs} ms`))
    }, timeoutMs)
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer)
    })
  })
}
