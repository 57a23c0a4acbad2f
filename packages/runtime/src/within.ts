/**
 * Waits for an answer for at most `timeoutMs`. A later result is dropped, even a failure.
 *
 * @param what what is awaited, for the error message
 * @throws Error when the time has passed; what the promise rejects with
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
