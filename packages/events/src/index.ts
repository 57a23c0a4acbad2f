export { appended } from './append.js'
export { appendAudit, type AuditedInvariant, completeAudit } from './audit.js'
export { formatCursor, parseCursor } from './cursor.js'
export type { CompleteEvents, EventContent, StoredEvent, ToldEvent } from './event.js'
export { publishEvents, type PublishedRound } from './publish.js'
export {
  type EventQuery,
  NumberAhead,
  readEvents,
  type ReadEvents,
  readNewestNumber,
  type ResyncCause
} from './read.js'
export { createPurgeOfEvents } from './purge.js'
export { createEventNews, type EventNews } from './news.js'
export { createPublishingWorker } from './publishing-worker.js'
