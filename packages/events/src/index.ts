export { appended } from './append.js'
export { formatCursor, parseCursor } from './cursor.js'
export type { CompleteEvents, EventContent, StoredEvent, ToldEvent } from './event.js'
export { readHistory } from './history.js'
export { publishEvents, type PublishedRound } from './publish.js'
export {
  type EventQuery,
  NumberAhead,
  readEvents,
  type ReadEvents,
  readNewestNumber,
  type ResyncCause
} from './read.js'
export { createEventNews, type EventNews } from './news.js'
export { createPublishingWorker } from './publishing-worker.js'
export { createEventTail, type EventTail, type EventTailDependencies } from './tail.js'
