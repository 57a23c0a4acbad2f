import { LOG_LEVELS } from '../index.js'
import * as setting from './settings.js'

// Settings that every service has, in groups that its schema spreads. What a group takes is what services say of it.

const logLevelSetting = setting
  .oneOf({ description: 'Least serious level that is logged.', example: 'info' }, LOG_LEVELS)
  .prefault('info')

/**
 * What the process runs for, and how.
 *
 * @param texts.development what the service allows in `development`
 */
export function processSettings(texts: { development: string }) {
  return {
    ENVIRONMENT: setting
      .oneOf(
        {
          description: `What the service runs for. \`development\` allows ${texts.development}.`,
          example: 'production'
        },
        ['production', 'development']
      )
      .prefault('production'),
    LOG_LEVEL: logLevelSetting,
    REPLICA_COUNT: setting
      .wholeNumber(
        { description: 'How many replicas of this service run. More than one need REDIS_URL.', example: '3' },
        { min: 1, max: 1000 }
      )
      .prefault('1')
  }
}

/**
 * The listener that clients reach.
 *
 * @param texts.port what its port is for
 */
export function publicListenerSettings(texts: { port: string }) {
  return {
    HTTP_HOST: setting
      .text({ description: 'Address the public listener binds to.', example: '0.0.0.0' })
      .prefault('0.0.0.0'),
    HTTP_PORT: setting.port({ description: texts.port, example: '3000' }).prefault('3000'),
    HTTP_CONNECTIONS_MAX: setting
      .wholeNumber(
        {
          description: 'Most connections to the public listener at a time. More are closed at once.',
          example: '10000'
        },
        { min: 1, max: 1_000_000 }
      )
      .prefault('10000'),
    TRUSTED_PROXIES: setting
      .proxies({
        description:
          'Proxies in front that are believed when they say in `X-Forwarded-For` where a request comes from: how many there are, or their addresses and networks separated by commas; 0 for none. Must be set in production unless RATE_LIMITS is off: all requests through a proxy that is not believed count as one address.',
        example: '10.0.0.0/8'
      })
      .optional()
  }
}

const SECONDS_PER_DAY = 86_400
const REQUESTS_MAX = 1_000_000_000

/**
 * How often things may be asked for.
 *
 * @param walletAddress what is counted for each wallet address, and how often it may be
 */
export function rateLimitSettings(walletAddress: { description: string; requests: string }) {
  const requests = (description: string, example: string) =>
    setting.wholeNumber({ description, example }, { min: 1, max: REQUESTS_MAX }).prefault(example)
  const seconds = (of: string) =>
    setting
      .wholeNumber(
        { description: `Window of ${of}, in seconds.`, example: '60' },
        { min: 1, max: SECONDS_PER_DAY }
      )
      .prefault('60')
  return {
    RATE_LIMITS: setting
      .flag({
        description:
          'Whether requests are counted, and refused with 429 when there are too many. On in production and off in development unless set. Counts are shared through REDIS_URL.',
        example: 'true'
      })
      .optional(),
    RATE_LIMIT_ADDRESS_REQUESTS: requests(
      'Most requests within a window from one address; from one /64 where it is IPv6.',
      '6000'
    ),
    RATE_LIMIT_ADDRESS_SECONDS: seconds('RATE_LIMIT_ADDRESS_REQUESTS'),
    RATE_LIMIT_CLIENT_REQUESTS: requests(
      'Most requests within a window of one client, known by its signatures.',
      '3000'
    ),
    RATE_LIMIT_CLIENT_SECONDS: seconds('RATE_LIMIT_CLIENT_REQUESTS'),
    RATE_LIMIT_WALLET_ADDRESS_REQUESTS: requests(walletAddress.description, walletAddress.requests),
    RATE_LIMIT_WALLET_ADDRESS_SECONDS: seconds('RATE_LIMIT_WALLET_ADDRESS_REQUESTS'),
    RATE_LIMIT_ADDRESS_ROWS: requests(
      'Most requests within a day from one address, one /64 where it is IPv6, that may leave a row in the database without any consent. See [limits](limits.md#what-strangers-can-have-stored).',
      '100000'
    ),
    RATE_LIMIT_CLIENT_ROWS: requests('The same of one client, known by its signatures.', '100000')
  }
}

/**
 * The listener for gRPC.
 *
 * @param texts.host what its address is
 * @param texts.port what its port is
 */
export function grpcListenerSettings(texts: { host: string; port: string }) {
  return {
    GRPC_HOST: setting.text({ description: texts.host, example: '0.0.0.0' }).prefault('0.0.0.0'),
    GRPC_PORT: setting.port({ description: texts.port, example: '3002' }).prefault('3002'),
    GRPC_REFLECTION: setting
      .flag({ description: 'Whether gRPC reflection is served.', example: 'false' })
      .prefault('false'),
    GRPC_CONNECTION_AGE_SECONDS: setting
      .wholeNumber(
        {
          description:
            'Age at which a gRPC connection is closed gently, in seconds, give or take a tenth so that not all go together. Clients then look the addresses up again: that is how long a replica that was added may get no calls. Calls that run go on for 10 minutes at most.',
          example: '180'
        },
        { min: 1, max: 86_400 }
      )
      .prefault('180'),
    GRPC_TLS_CERTIFICATE_FILE: setting
      .text({
        description:
          'Certificate of the gRPC listener: a PEM file, followed by the certificates between it and its authority. Required in production. Read again when it is replaced, like the two below: see [mutual TLS](decisions/mutual-tls.md).',
        example: '/run/secrets/grpc/tls.crt'
      })
      .optional(),
    GRPC_TLS_KEY_FILE: setting
      .text({ description: 'Key of that certificate: a PEM file.', example: '/run/secrets/grpc/tls.key' })
      .optional(),
    GRPC_TLS_CLIENT_CA_FILE: setting
      .text({
        description:
          'Certificates of the authorities that sign those of gRPC clients: a PEM file. Whoever has none of theirs is not talked to.',
        example: '/run/secrets/grpc/ca.crt'
      })
      .optional()
  }
}

/** The settings that name the files of the gRPC listener's certificates. */
export const GRPC_LISTENER_TLS = {
  certificate: 'GRPC_TLS_CERTIFICATE_FILE',
  key: 'GRPC_TLS_KEY_FILE',
  authority: 'GRPC_TLS_CLIENT_CA_FILE'
} as const

/**
 * Who may call what over gRPC.
 *
 * @param may what the clients may do, in words that follow "Clients that may"
 */
export function grpcClientsSetting(may: string, example: string) {
  return setting
    .clientNames({
      description: `Clients that may ${may}: URIs and DNS names of the subject alternative names of their certificates, separated by commas. Required in production.`,
      example
    })
    .optional()
}

/** The listener for metrics. */
export const metricsSettings = {
  METRICS_HOST: setting
    .text({
      description: 'Address the metrics listener binds to. Not for the internet.',
      example: '0.0.0.0'
    })
    .prefault('127.0.0.1'),
  METRICS_PORT: setting
    .port({
      description: 'Port of the metrics listener, for Prometheus. Without it there is none.',
      example: '9464'
    })
    .optional()
}

/** Where the service's own database is. */
function databaseUrlSetting(example: string) {
  return setting.connectionUrl({ description: 'The PostgreSQL database of this service.', example })
}

/** What a migration needs: a migration runs where the service does not, and knows less. */
export function migrationSettings() {
  return {
    LOG_LEVEL: logLevelSetting,
    DATABASE_URL: databaseUrlSetting('postgresql://owner:password@postgres:5432/wallet')
  }
}

/** The service's own database. */
export function databaseSettings(meta: { example: string }) {
  return {
    DATABASE_URL: databaseUrlSetting(meta.example),
    DATABASE_CONNECTIONS_MAX: setting
      .wholeNumber(
        { description: 'Most connections to the database at once.', example: '16' },
        { min: 2, max: 500 }
      )
      .prefault('16'),
    DATABASE_POOLER: setting
      .oneOf(
        {
          description:
            'What is between this service and PostgreSQL: `none`, or `transaction`, a pooler such as PgBouncer in transaction mode. Then nothing is asked for that belongs to a session, and time limits must be set for the role: see [scaling](scaling.md#pgbouncer).',
          example: 'none'
        },
        ['none', 'transaction']
      )
      .prefault('none')
  }
}

/** What replicas share and may lose. */
export const sharedStoreSettings = {
  REDIS_URL: setting
    .connectionUrl({
      description:
        'Redis that the replicas share. Without it, one process keeps to itself what replicas would share.',
      example: 'redis://redis:6379'
    })
    .optional()
}

/** Which signatures of requests are accepted. */
export const signatureSettings = {
  SIGNATURE_AGE_MAX_SECONDS: setting
    .wholeNumber(
      { description: 'Oldest `created` of a signature, in seconds.', example: '300' },
      { min: 1, max: 3600 }
    )
    .prefault('300'),
  SIGNATURE_FUTURE_MAX_SECONDS: setting
    .wholeNumber(
      { description: 'How far ahead `created` of a signature may be, in seconds.', example: '30' },
      { min: 0, max: 3600 }
    )
    .prefault('30'),
  SIGNATURE_TAG_REQUIRED: setting
    .flag({
      description: 'Whether signatures must carry `tag="gnap"`, as RFC 9635 §7.3.1 says.',
      example: 'false'
    })
    .prefault('false'),
  SIGNATURE_RELEASED_CLIENT_FORMS: setting
    .flag({
      description:
        'Whether signatures are accepted, too, that are written outside RFC 9421 exactly as the Rust client 0.1.2 and the ' +
        'PHP clients up to 1.1.0 write them. What they cover and sign is checked as ever.',
      example: 'true'
    })
    .prefault('true')
}

/** More than the day that a request may be repeated with its `Idempotency-Key`, and then must be answered as it was. */
const RETENTION_DAYS_MIN = 2
const RETENTION_DAYS_MAX = 36_500

/**
 * How long what is over is kept.
 *
 * @param texts.interval what is looked for and deleted
 * @param texts.retention how long it is kept, and what is kept for good
 */
export function purgeSettings(texts: { interval: string; retention: string }) {
  return {
    PURGE_INTERVAL_SECONDS: setting
      .wholeNumber({ description: texts.interval, example: '3600' }, { min: 0, max: SECONDS_PER_DAY })
      .prefault('3600'),
    PURGE_RETENTION_DAYS: setting
      .wholeNumber(
        { description: texts.retention, example: '30' },
        { min: RETENTION_DAYS_MIN, max: RETENTION_DAYS_MAX }
      )
      .prefault('30')
  }
}

/** How the service stops. */
export const shutdownSettings = {
  SHUTDOWN_DELAY_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How long everything is still answered on shutdown while the service says that it is not ready, in seconds: as long as a balancer needs to notice. 0 where the balancer knows before, as with the `preStop` of the manifests for Kubernetes.',
        example: '10'
      },
      { min: 0, max: 300 }
    )
    .prefault('0'),
  SHUTDOWN_GRACE_SECONDS: setting
    .wholeNumber(
      { description: 'How long running requests may take to finish on shutdown, in seconds.', example: '25' },
      { min: 1, max: 600 }
    )
    .prefault('25')
}
