/**
 * This provider as a client of other providers: how it finds out about incoming payments that they host. It has a wallet address
 * and keys like any client, gets grants for reading, keeps their tokens, and believes nothing that it has not checked.
 */
export { type ProviderGrant } from './grant-answer.js'
export { type GrantStore } from './grants.js'
export { type ClientIdentity, createClientIdentity, type PublishedKeys } from './identity.js'
export { type RemoteReceiver } from './incoming-payment-document.js'
export { ProviderFailure, type ProviderFailureKind } from './provider-failure.js'
export {
  createReceiverReader,
  type ReceiverReader,
  type ReceiverReaderDependencies,
  type ReceiverReading
} from './receivers.js'
