/** What this service tells of: for whoever reads or describes its events. */
export { EVENT_TYPES } from './domain/event-types.js'
export { EVENT_CATALOGUE } from './features/tell-events/catalogue.js'
