/** Interactions: the account holders' consent to grants (RFC 9635 §4). The table `interaction`. */
export {
  approvedInteractions,
  bindBrowser,
  deniedInteractions,
  insertedInteractions,
  type NewInteraction,
  newInteractionValues,
  openInteraction
} from './change.js'
export {
  byInteraction,
  CONSENTED,
  consentedWalletAddressOf,
  createInteractionReader,
  INTERACTION_EXPIRY,
  INTERACTION_OF_GRANT_COLUMNS,
  interactionEndOf,
  interactionOf,
  type InteractionOfGrantRow,
  IS_CONSENTED,
  restoreInteractionOfGrant
} from './read.js'
