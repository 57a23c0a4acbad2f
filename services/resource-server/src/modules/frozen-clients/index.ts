/** The clients that the auth server says are frozen (table `frozen_client`): their pending payments may be held. */
export { isFrozenClient, keepFrozenClients } from './frozen-clients.js'
