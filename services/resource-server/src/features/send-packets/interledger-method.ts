import { createLookup } from '@open-payments-server/database'
import type { OutgoingMethod } from '../../domain/outgoing-method.js'
import { findSendingPeers } from '../../modules/peers/index.js'
import type { SendPacketsDependencies } from './dependencies.js'
import { createPacketJournals } from './journal.js'
import { price } from './price.js'
import { createRecentReceivers } from './recent-receivers.js'
import { conclude, hold, send } from './send.js'

/**
 * Pays receivers at other providers over Interledger.
 *
 * @param dependencies.leaseMs for how long nobody else sends a payment after one of its packets was written down, in milliseconds
 */
export function createInterledgerMethod(
  dependencies: Omit<SendPacketsDependencies, 'recentReceivers' | 'journals' | 'findPeer'> & {
    readonly leaseMs: number
  }
): OutgoingMethod {
  const context = {
    ...dependencies,
    recentReceivers: createRecentReceivers(dependencies.clock),
    journals: createPacketJournals(dependencies),
    findPeer: createLookup((ids) => findSendingPeers(dependencies.database, ids))
  }
  return {
    price: (request) => price(request, context),
    send: (order, signal) => send(order, signal, context),
    hold: (order) => hold(order, context),
    conclude: (order, reason) => conclude(order, reason, context)
  }
}
