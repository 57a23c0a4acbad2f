export { systemClock } from './clock.js'
export { BATCH_PATIENCE_MS, fulfilled, gather, type ItemResult, rejected } from './gathering.js'
export { Lifecycle, type Part, type RunningService, runProcess } from './lifecycle.js'
export { type Listener, Listeners } from './listeners.js'
export { isLoopbackHost } from './loopback.js'
export { createLogger, LOG_LEVELS, type Logger, type LogLevel, withoutChecks } from './logger.js'
export { oneAtATime } from './one-at-a-time.js'
export { systemRandom } from './random.js'
export {
  continueTrace,
  endFailedSpan,
  isFromStranger,
  isTraced,
  sendTrace,
  type TraceSender,
  withinSpan
} from './tracing.js'
export { kebabCase, type SnakeCase, snakeCase } from './snake-case.js'
export { readVersion } from './version.js'
export { startWorker, type Worker } from './worker.js'
export { within } from './within.js'
