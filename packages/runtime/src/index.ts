export { type Clock, systemClock } from './clock.js'
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
export { Lifecycle, type Part, type RunningService, runProcess } from './lifecycle.js'
export { isLoopbackHost } from './loopback.js'
export { createLogger, LOG_LEVELS, type Logger, type LogLevel } from './logger.js'
export { startWorker, type Worker } from './worker.js'
export { within } from './within.js'
