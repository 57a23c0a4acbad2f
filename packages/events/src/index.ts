export { appended } from './append.js'
export { appendAudit, AUDIT_SCHEMA, type AuditedInvariant, completeAudit, exampleOfAudit } from './audit.js'
export {
  AMOUNT_SCHEMA,
  assertDescribed,
  asyncApiOf,
  type DescribedEvent,
  type EventCatalogue,
  exampleOfEvent,
  jsonSchemaOfEvent
} from './catalogue.js'
export { readEpochChange } from './epoch.js'
export { formatCursor, parseCursor } from './cursor.js'
export {
  type CompleteEvents,
  type EventContent,
  type StoredEvent,
  tellEvents,
  type ToldEvent
} from './event.js'
export { type EventMeasures, measureEvents } from './measure.js'
export { hasEvents, listAudits, readHistory } from './history.js'
export { publishEvents, type PublishedRound } from './publish.js'
export {
  type EventQuery,
  LOOKED_AT_MAX,
  NumberAhead,
  readEvents,
  readEventsByNumber,
  type ReadEvents,
  readNewestNumber,
  type ResyncCause,
  TimelineUnknown
} from './read.js'
export { createPurgeOfEvents } from './purge.js'
export { createEventNews, type EventNews } from './news.js'
export { createPublishingWorker } from './publishing-worker.js'
export { createEventTail, type EventTail, type EventTailDependencies } from './tail.js'
