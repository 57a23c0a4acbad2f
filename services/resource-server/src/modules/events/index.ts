/**
 * What happened here, told to everyone who may know it (tables `event_outbox`, `event`, `event_log` and `event_epoch`). The
 * auth server has the same module: its statements are in `packages/events`.
 */
export {
  appended,
  appendAudit,
  completeAudit,
  createPurgeOfEvents,
  type EventContent,
  hasEvents,
  publishEvents,
  readHistory,
  type StoredEvent
} from '@open-payments-server/events'
