import type { StreamCredentials } from '@open-payments-server/interledger'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { invalidReceiver, temporarilyUnavailable } from '../../domain/errors.js'
import { remainingRoom, type ReceivingState } from '../../domain/receiver.js'
import type { ReceiverReader, ReceiverReading, RemoteReceiver } from '../../other-providers/index.js'

/** A receiver at another provider that can be paid now. */
export interface PayableReceiver extends RemoteReceiver {
  readonly credentials: StreamCredentials
}

/**
 * Reads a receiver that a payment is to be priced for.
 *
 * @throws Refusal `not-payable` for what is no receiver, or takes nothing more; `unavailable` when its provider does not answer
 */
export async function readPayableReceiver(
  url: string,
  {
    receivers,
    clock,
    logger
  }: { readonly receivers: ReceiverReader; readonly clock: Clock; readonly logger: Logger }
): Promise<PayableReceiver> {
  const reading = await receivers.readReceiver(url)
  if (reading.kind === 'found') {
    const { receiver } = reading
    const { credentials } = receiver
    if (credentials === undefined || remainingRoom(stateOf(receiver), clock.now()) === 0n) {
      throw invalidReceiver()
    }
    return { ...receiver, credentials }
  }
  if (reading.kind === 'not-found') throw invalidReceiver()
  logUnread(reading, logger)
  if (reading.kind === 'unreachable') throw temporarilyUnavailable(reading.failure)
  throw invalidReceiver(reading.failure)
}

/** Logs why a receiver could not be read. */
export function logUnread(
  { failure }: Extract<ReceiverReading, { readonly failure: unknown }>,
  logger: Logger
): void {
  logger.warn({ err: failure }, 'an incoming payment at another provider could not be read')
}

/** What decides how much a receiver can still take. */
export function stateOf({ expiresAtMs = Infinity, ...receiver }: RemoteReceiver): ReceivingState {
  return { ...receiver, expiresAtMs }
}
