import { pino, type Logger as PinoLogger } from 'pino'

/** Structured log. Fields first, message second. Never give it a token, a key, a signature or a body. */
export type Logger = PinoLogger

/** Levels a log can be set to. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** A log level. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Fields that are struck out wherever they turn up, should one slip into a log call. */
const REDACTED_FIELDS = [
  'authorization',
  'signature',
  'access_token',
  'accessToken',
  'secret',
  'password',
  'cookie'
]

/**
 * A log that writes one JSON object a line to standard output.
 *
 * @param options.service name of the service, on every line
 * @param options.level least serious level that is written
 */
export function createLogger(options: { service: string; level: LogLevel }): Logger {
  return pino({
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: REDACTED_FIELDS.flatMap((field) => [field, `*.${field}`, `headers.${field}`]),
      censor: '[redacted]'
    }
  })
}
