/** Clients that an operator froze (table `client_freeze`). What they may still do is decided where it is done. */
export { findClientFreeze, freezeEvents, freezes, listFrozenClients } from './freeze.js'
export { readToldClients, type ToldClient } from './events.js'
export { isFrozenClient, wasFrozen } from './is-frozen.js'
