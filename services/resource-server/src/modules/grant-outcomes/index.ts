/**
 * The outcome of each payment id for the auth server: none while the payment is pending, then a settlement or a release,
 * delivered until it is acknowledged. Also the ids that were given up. A change of timeline may have lost any of these.
 */
export { type Acceptance, acceptPayments } from './accept.js'
export { acknowledge, claimDue, deliverAgain, type DueOutcome, postpone } from './deliver.js'
export { findOutcome, type FoundOutcome } from './find.js'
export { chargedAt, givingUp, isTaken, stoodFor } from './give-up.js'
export { undelivered } from './measure.js'
export { determined, opened } from './outcome.js'
export { giveUpLost, sweep } from './sweep.js'
