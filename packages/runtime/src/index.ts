export { type Clock, systemClock } from './clock.js'
export {
  BATCH_PATIENCE_MS,
  fulfilled,
  gather,
  type GatheringOptions,
  type Outcome,
  rejected
} from './gathering.js'
export {
  hashSecret,
  isUuid,
  newId,
  type Random,
  randomSecret,
  systemRandom,
  uuidV7,
  uuidV8
} from './identifiers.js'
export { CLOSING_MAX_MS, Lifecycle, type Part, type RunningService, runProcess } from './lifecycle.js'
export { type Listener, Listeners, type ListenersOptions } from './listeners.js'
export { isLoopbackHost } from './loopback.js'
export { createLogger, LOG_LEVELS, type Logger, type LogLevel } from './logger.js'
export { type LineFields, type LineTrace, prepareLine, type WriteLine } from './prepared-line.js'
export { Refusal, type RefusalOptions } from './refusal.js'
export {
  continueTrace,
  endFailedSpan,
  isFromStranger,
  isTraced,
  sendTrace,
  type TraceSender,
  withinSpan
} from './tracing.js'
export { readVersion } from './version.js'
export { startWorker, type Worker } from './worker.js'
export { within } from './within.js'
