/**
 * What the auth server is owed for each payment id: nothing while the payment is pending, then a settlement or a release,
 * delivered until it is acknowledged; and the ids that were given up.
 */
export { acknowledge, claimDue, type DueOutcome, postpone } from './deliver.js'
export { type GivenUpCause, giveUp, givingUp, isTaken, stoodFor } from './give-up.js'
export { undelivered } from './measure.js'
export { determined, opened } from './outcome.js'
