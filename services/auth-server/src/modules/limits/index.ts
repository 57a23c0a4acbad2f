/**
 * What each grant has spent against its limits: the room that payments have reserved (tables `limit_window` and
 * `reservation`), or the record that they were refused or given up.
 */
export { end } from './end.js'
export { readToldUses } from './events.js'
export { findReservation, listAfter, listOpen, type Reservation } from './list.js'
export { measureReservations, OPEN_COUNTED_MAX } from './measure.js'
export { isSpentUnder, purgeRefusals } from './purge.js'
export { type RecordedReservation, refuse, type Suspension } from './refuse.js'
export { type ReservationRequest, reserve, type WindowResult } from './reserve.js'
export { COUNTED, loweredWindows, latestWindowsOf, type StoredWindow } from './lower.js'
export { findRecorded, restore } from './restore.js'
export { createReserveTogether, type ReserveTogether } from './reserve-together.js'
export { completeSpent, readSpent, type SpentAmounts } from './spent.js'
export type { SpentValues } from './values.js'
