import { type DestinationStream, pino, type Logger as PinoLogger } from 'pino'
import { describeError } from './describe-error.js'

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
  'cookie',
  'interact_ref',
  'sharedSecret',
  '["set-cookie"]',
  '["signature-input"]',
  '["x-idp-secret"]'
]

/**
 * A log that writes one JSON object a line.
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
    timestamp: pino.stdTimeFunctions.isoTime,
    // Errors are told under `err`; what somebody calls otherwise is told in the same way.
    serializers: { err: describeError, error: describeError },
    redact: {
      paths: REDACTED_FIELDS.flatMap((field) =>
        field.startsWith('[')
          ? [field, `*${field}`, `headers${field}`]
          : [field, `*.${field}`, `headers.${field}`]
      ),
      censor: '[redacted]'
    }
  }
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination)
}
