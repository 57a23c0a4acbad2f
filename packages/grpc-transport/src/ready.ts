import type { Client } from '@grpc/grpc-js'

/**
 * Resolves when a client is connected.
 *
 * @throws Error if it is not within the time
 */
export function whenReady(client: Client, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Date.now() + timeoutMs, (error) => {
      if (error === undefined) resolve()
      else reject(error)
    })
  })
}
