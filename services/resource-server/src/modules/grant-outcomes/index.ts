/**
 * What the auth server is owed for each payment id: nothing while the payment is pending, then a settlement or a release,
 * delivered until it is acknowledged; the ids that were given up; and the timelines of the database, a change of which may have
 * lost any of these.
 */
export { acknowledge, claimDue, type DueOutcome, postpone } from './deliver.js'
export { givingUp, isTaken, stoodFor } from './give-up.js'
export { undelivered } from './measure.js'
export { determined, opened } from './outcome.js'
export { giveUpLost, type LostPaymentId, sweep } from './sweep.js'
export { meetTimeline, readTimelineChange } from './timeline.js'
