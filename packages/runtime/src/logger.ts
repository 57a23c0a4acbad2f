import { type DestinationStream, type LogFn, pino, type Logger as PinoLogger } from 'pino'
import { describeError, isError, withoutSecrets } from './describe-error.js'
import { openStandardOutput } from './standard-output.js'
import { traceFields } from './tracing.js'

/** Structured log. Fields first, message second. Never give it a token, a key, a signature or a body. */
export type Logger = PinoLogger

/** Levels a log can be set to. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** A log level. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Fields redacted wherever they appear. */
const REDACTED_FIELDS = [
  'authorization',
  'signature',
  'access_token',
  'accessToken',
  'secret',
  'password',
  'cookie',
  'interact_ref',
  'sharedSecret',
  '["set-cookie"]',
  '["signature-input"]',
  '["x-idp-secret"]'
]

/**
 * A log that writes one JSON object a line. Lines of a request or batch name its trace, in `trace_id` and `span_id`.
 *
 * @param options.service name of the service, on every line
 * @param options.level least serious level that is written
 * @param options.destination where the lines go: standard output unless given
 */
export function createLogger(options: {
  service: string
  level: LogLevel
  destination?: DestinationStream
}): Logger {
  const settings = {
    level: options.level,
    base: { service: options.service },
    mixin: traceFields,
    timestamp: createTimeField(),
    // Errors are logged under `err`; the key `error` is serialized the same way.
    serializers: { err: describeError, error: describeError },
    hooks: { logMethod: logWithoutSecrets },
    redact: {
      paths: REDACTED_FIELDS.flatMap((field) =>
        field.startsWith('[')
          ? [field, `*${field}`, `headers${field}`]
          : [field, `*.${field}`, `headers.${field}`]
      ),
      censor: '[redacted]'
    }
  }
  const destination =
    options.destination ??
    openStandardOutput((count) => {
      logger.warn({ count }, 'log lines were lost: there was no room for them')
    })
  const logger: Logger = pino(settings, destination)
  const { level, base, timestamp } = settings
  UNCHECKED.set(logger, pino({ level, base, timestamp }, destination))
  return logger
}

/** The {@link withoutChecks} twins of loggers. */
const UNCHECKED = new WeakMap<Logger, Logger>()

/**
 * The same log for lines that are written for every request, and whose fields are numbers and words from closed sets: nothing is
 * searched for secrets, and no trace is added. That takes five times as long as the line itself.
 *
 * @param logger from {@link createLogger}; a child of one is returned as it is
 */
export function withoutChecks(logger: Logger): Logger {
  return UNCHECKED.get(logger) ?? logger
}

/** The time of a line as pino writes it, put into words once for each millisecond. */
function createTimeField(): () => string {
  let toldMs = NaN
  let field = ''
  return () => {
    const nowMs = Date.now()
    if (nowMs !== toldMs) field = pino.stdTimeFunctions.isoTime()
    toldMs = nowMs
    return field
  }
}

/**
 * Redacts messages too. Without a message, pino would log that of the error unchanged, so it is given one.
 */
function logWithoutSecrets(this: PinoLogger, parameters: Parameters<LogFn>, log: LogFn): void {
  const [first, ...rest] = parameters as unknown[]
  const fields = isError(first) ? { err: first } : first
  const error = errorOf(fields)
  const told = rest[0] === undefined && error !== undefined ? [fields, error.message] : [fields, ...rest]
  const safe = told.map((one) => (typeof one === 'string' ? withoutSecrets(one) : one))
  log.apply(this, safe as Parameters<LogFn>)
}

function errorOf(fields: unknown): Error | undefined {
  const { err } = typeof fields === 'object' && fields !== null ? (fields as { err?: unknown }) : {}
  return isError(err) ? err : undefined
}
