import type { ChannelInterface, Client } from '@grpc/grpc-js'

/**
 * Observes every unary call that ended, for metrics.
 *
 * @param method `Service/Method`, without the package: one from the contract
 * @param code name of its status, such as `OK` or `UNAVAILABLE`
 */
export type CallObserver = (method: string, code: string, durationSeconds: number) => void

/** Observes the calls of a client, retries included in one call. */
export interface ClientObserver {
  readonly ended: CallObserver
  /** A call is retried. */
  readonly retried: (method: string) => void
}

const observersOfChannels = new WeakMap<ChannelInterface, ClientObserver>()

/** Lets an observer observe every unary call of a client, and of all that share its channel. */
export function observeCalls(client: Client, observer: ClientObserver): void {
  observersOfChannels.set(client.getChannel(), observer)
}

/** Observes the calls of a client; none unless set. */
export function observerOf(client: Client): ClientObserver | undefined {
  return observersOfChannels.get(client.getChannel())
}

/**
 * Name of a method in metrics.
 *
 * @param path such as `/openpayments.auth.v1.GrantLimitsService/Reserve`
 */
export function methodLabel(path: string): string {
  return path.slice(path.lastIndexOf('.', path.lastIndexOf('/')) + 1)
}
