import type { OutgoingMethod } from '../../domain/outgoing-method.js'
import type { SendPacketsDependencies } from './dependencies.js'
import { price } from './price.js'
import { send } from './send.js'

/**
 * Pays receivers at other providers over Interledger.
 *
 * @param dependencies.leaseMs for how long nobody else sends a payment after one of its packets was written down, in milliseconds
 */
export function createInterledgerMethod(
  dependencies: SendPacketsDependencies & { readonly leaseMs: number }
): OutgoingMethod {
  return {
    price: (request) => price(request, dependencies),
    send: (order, signal) => send(order, signal, dependencies)
  }
}
