/**
 * What happened here, told to everyone who may know it (tables `event_outbox`, `event`, `event_log` and `event_epoch`). The
 * resource server has the same module: its statements are in `packages/events`.
 */
export {
  appended,
  appendAudit,
  completeAudit,
  createPurgeOfEvents,
  type EventContent,
  publishEvents,
  readEpochChange,
  type StoredEvent
} from '@open-payments-server/events'
