import { LOG_LEVELS } from '../index.js'
import * as setting from './settings.js'

// Settings that every service has, in groups that its schema spreads. The parameters of a group are the service's own
// descriptions.

const logLevelSetting = setting
  .oneOf({ description: 'Minimum level that is logged.', example: 'info' }, LOG_LEVELS)
  .prefault('info')

/**
 * The settings of the process.
 *
 * @param texts.development what the service allows in `development`
 */
export function processSettings(texts: { development: string }) {
  return {
    ENVIRONMENT: setting
      .oneOf(
        {
          description: `Environment of the service. \`development\` allows ${texts.development}.`,
          example: 'production'
        },
        ['production', 'development']
      )
      .prefault('production'),
    LOG_LEVEL: logLevelSetting,
    REPLICA_COUNT: setting
      .wholeNumber(
        {
          description: 'How many replicas of this service run. More than one needs REDIS_URL.',
          example: '3'
        },
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
          description:
            'Maximum number of concurrent connections to the public listener. More are closed at once.',
          example: '10000'
        },
        { min: 1, max: 1_000_000 }
      )
      .prefault('10000'),
    TRUSTED_PROXIES: setting
      .proxies({
        description:
          "Proxies in front that are trusted to state the client's address in `X-Forwarded-For`: how many there are, or their addresses and networks separated by commas; 0 for none. Must be set in production unless RATE_LIMITS is off: all requests through an untrusted proxy count as one address.",
        example: '10.0.0.0/8'
      })
      .optional()
  }
}

const SECONDS_PER_DAY = 86_400
const REQUESTS_MAX = 1_000_000_000

/**
 * The rate limits.
 *
 * @param walletAddress what is counted for each wallet address, and its limit
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
      'Maximum number of requests per window from one address, or from one /64 for IPv6.',
      '6000'
    ),
    RATE_LIMIT_ADDRESS_SECONDS: seconds('RATE_LIMIT_ADDRESS_REQUESTS'),
    RATE_LIMIT_CLIENT_REQUESTS: requests(
      'Maximum number of requests per window of one client, identified by its signatures.',
      '3000'
    ),
    RATE_LIMIT_CLIENT_SECONDS: seconds('RATE_LIMIT_CLIENT_REQUESTS'),
    RATE_LIMIT_WALLET_ADDRESS_REQUESTS: requests(walletAddress.description, walletAddress.requests),
    RATE_LIMIT_WALLET_ADDRESS_SECONDS: seconds('RATE_LIMIT_WALLET_ADDRESS_REQUESTS'),
    RATE_LIMIT_ADDRESS_ROWS: requests(
      'Maximum number of requests per day from one address, or one /64 for IPv6, that may store a row in the database without consent. An IPv6 /48 may store ten times as many. See [limits](limits.md#what-strangers-can-have-stored).',
      '20000'
    ),
    RATE_LIMIT_CLIENT_ROWS: requests('The same for one client, identified by its signatures.', '100000')
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
            'Age at which a gRPC connection is closed gracefully, in seconds, give or take a tenth so that not all close together. Clients then present their certificates anew. Running calls may continue for at most 10 minutes.',
          example: '180'
        },
        { min: 1, max: 86_400 }
      )
      .prefault('180'),
    GRPC_TLS_CERTIFICATE_FILE: setting
      .text({
        description:
          'Certificate of the gRPC listener: a PEM file, followed by the certificates between it and its authority. Required in production. Reloaded when it is replaced, like the two below: see [mutual TLS](decisions/mutual-tls.md).',
        example: '/run/secrets/grpc/tls.crt'
      })
      .optional(),
    GRPC_TLS_KEY_FILE: setting
      .text({ description: 'Key of that certificate: a PEM file.', example: '/run/secrets/grpc/tls.key' })
      .optional(),
    GRPC_TLS_CLIENT_CA_FILE: setting
      .text({
        description:
          "Certificates of the authorities that sign gRPC clients' certificates: a PEM file. Clients with other certificates are refused.",
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
 * @param may what the clients may do, continuing "Clients that may"
 */
export function grpcClientsSetting(may: string, example: string) {
  return setting
    .clientNames({
      description: `Clients that may ${may}: URIs and DNS names of the subject alternative names of their certificates, separated by commas. Required in production.`,
      example
    })
    .optional()
}

/** Who operates, and what they may do. */
export const operatorSettings = {
  OPERATOR_ISSUERS: setting
    .text({
      description:
        'OpenID Connect issuers whose ID tokens say which person operates: a JSON list. Of each the `issuer` exactly as in `iss`, the `clientIds` that its tokens must be for, the `personClaim` that tells who somebody is if that is not `sub` (required for an issuer that has only pairwise subjects), the `rolesClaim` (the name of a claim, or a list of the names that lead to it), and in `roles` the values of that claim for `viewer`, `operator` and `approver`. See [operators](operations.md#operators).',
      example:
        '[{"issuer":"https://login.wallet.example","clientIds":["console"],"rolesClaim":"groups","roles":{"viewer":["support"],"operator":["operations"],"approver":["treasury"]}}]'
    })
    .optional(),
  OPERATOR_MACHINES: setting
    .text({
      description:
        "What each client of GRPC_OPERATOR_CLIENTS may do without a person's token: `name=role+role`, separated by commas, the name as in its certificate, the roles `viewer`, `operator` and `approver`. A client that acts for people, such as a console, is not named. In production nothing without it; in development everything. In plain text every client is called `development`, also the resource server, which must be able to read at the auth server. Where OPERATOR_ISSUERS is set, a machine that may act in production must be one whose key nobody who operates can use, and `unattended` says so: `name=operator+unattended`. Required in production unless OPERATOR_ISSUERS is set.",
      example: 'spiffe://wallet.example/operator=operator+approver'
    })
    .optional(),
  OPERATOR_SECOND_PERSON_FOR: setting
    .text({
      description:
        'Calls of operators that are done only once another person approves them: names of methods of the gRPC contract, separated by commas. Needs OPERATOR_ISSUERS. See [a second person](operations.md#a-second-person).',
      example: 'SetAccountHolder,UpdatePeer'
    })
    .optional(),
  OPERATOR_PROPOSAL_HOURS: setting
    .wholeNumber(
      { description: 'How long what an operator proposed can be approved, in hours.', example: '24' },
      { min: 1, max: 720 }
    )
    .prefault('24')
}

/** From which amounts on operators need a second person. */
export const operatorAmountSettings = {
  OPERATOR_SECOND_PERSON_FROM: setting
    .text({
      description:
        'From which amount on deposits, withdrawals, refunds, approvals of payments, settlements with peers, decisions about packets to peers, raised limits of what peers may owe and may be owed, changes of where payments to a peer go, other holders, ends of freezes and further wallet addresses of accounts that hold as much, and deletions of approval rules are done only once another person approves them, in major units by asset code: `10000.00 USD, 9000.00 EUR`. In an asset that is not listed, always; `always`: in every asset. Needs OPERATOR_ISSUERS. See [a second person](operations.md#a-second-person).',
      example: '10000.00 USD, 9000.00 EUR'
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

/** The connection to the service's own database. */
function databaseUrlSetting(example: string) {
  return setting.databaseUrl({
    description:
      'The PostgreSQL database of this service: `postgresql://user:password@host:port/name`. Several hosts, of which one is the primary, are separated by commas, with `target_session_attrs=read-write`. In production it must end with `sslmode=verify-full`, unless it is on this machine; `sslrootcert` is the file with the authority of its certificate, where that is your own. See [high availability](operations.md#high-availability).',
    example
  })
}

/** The settings of a migration, which runs where the service does not, and knows less. */
export function migrationSettings() {
  return {
    LOG_LEVEL: logLevelSetting,
    DATABASE_URL: databaseUrlSetting('postgresql://owner:password@postgres:5432/wallet?sslmode=verify-full')
  }
}

/** The service's own database. */
export function databaseSettings(meta: { example: string }) {
  return {
    DATABASE_URL: databaseUrlSetting(meta.example),
    DATABASE_CONNECTIONS_MAX: setting
      .wholeNumber(
        { description: 'Maximum number of connections to the database.', example: '16' },
        { min: 2, max: 500 }
      )
      .prefault('16'),
    DATABASE_POOLER: setting
      .oneOf(
        {
          description:
            'What is between this service and PostgreSQL: `none`, or `transaction`, a pooler such as PgBouncer in transaction mode. Then no session state is used, and timeouts must be set on the role: see [scaling](scaling.md#pgbouncer).',
          example: 'none'
        },
        ['none', 'transaction']
      )
      .prefault('none'),
    DATABASE_DURABILITY: setting
      .oneOf(
        {
          description:
            'Who else keeps what was committed, when the machine of the database is lost. `synchronous`: a standby, for which PostgreSQL waits; a server that does not wait is refused whenever a connection is made. `platform`: a managed database does, where this service cannot see it. `accept-loss`: nobody, so that answered payments may be lost. Must be set in production; `accept-loss` in development. See [high availability](operations.md#high-availability).',
          example: 'synchronous'
        },
        ['synchronous', 'platform', 'accept-loss']
      )
      .optional()
  }
}

/** The shared store. */
export const sharedStoreSettings = {
  REDIS_URL: setting
    .redisUrl({
      description:
        'Redis for data that replicas share: `rediss://user:password@host:port`. Several hosts, which REDIS_TOPOLOGY says what they are, are separated by commas. In production it must be a `rediss` URL, unless Redis is one server on this machine. Without it, a single process keeps this data in memory.',
      example: 'rediss://redis:6379'
    })
    .optional(),
  REDIS_TOPOLOGY: setting
    .oneOf(
      {
        description:
          'What the hosts of REDIS_URL are: `single`, the one server; `sentinel`, each of the sentinels that watch a primary and its replicas, whose user and password the URL has; `cluster`, some nodes of a cluster. See [high availability](operations.md#redis).',
        example: 'sentinel'
      },
      ['single', 'sentinel', 'cluster']
    )
    .prefault('single'),
  REDIS_SENTINEL_NAME: setting
    .text({
      description: 'What the sentinels call the primary. Required with REDIS_TOPOLOGY `sentinel`.',
      example: 'wallet'
    })
    .optional(),
  REDIS_SENTINEL_USERNAME: setting
    .text({ description: 'User of the sentinels themselves, if they have one.', example: 'wallet' })
    .optional(),
  REDIS_SENTINEL_PASSWORD: setting
    .secret({
      description: 'Password of the sentinels themselves, if they require one.',
      example: 'a-long-random-text-for-sentinels'
    })
    .optional()
}

/** Which signatures of requests are accepted. */
export const signatureSettings = {
  SIGNATURE_AGE_MAX_SECONDS: setting
    .wholeNumber(
      { description: 'Maximum age of a signature, by its `created`, in seconds.', example: '300' },
      { min: 1, max: 3600 }
    )
    .prefault('300'),
  SIGNATURE_FUTURE_MAX_SECONDS: setting
    .wholeNumber(
      {
        description: "How far ahead of the clock a signature's `created` may be, in seconds.",
        example: '30'
      },
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
        'Whether signatures are also accepted in the forms outside RFC 9421 that the Rust client 0.1.2 and the ' +
        'PHP clients up to 1.1.0 write. Coverage and signature are checked as usual.',
      example: 'true'
    })
    .prefault('true')
}

/**
 * Longer than the day within which a request may be repeated with its `Idempotency-Key`, and must then get the same answer.
 */
const RETENTION_DAYS_MIN = 2
const RETENTION_DAYS_MAX = 36_500

/**
 * The retention of ended data.
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

/** How events are posted to endpoints. */
export const webhookSettings = {
  WEBHOOK_PRIVATE_NETWORKS: setting
    .networks({
      description:
        'Private addresses and networks that webhook endpoints may have, also without TLS, separated by commas. In development also this machine.',
      example: '10.0.0.0/8,fd00::/8'
    })
    .optional(),
  WEBHOOK_SECRET_KEY: setting
    .secret({
      description:
        'Master key with which the secrets of webhook endpoints are encrypted in the database. The same on every replica. Without it nothing is posted, and no endpoint can be registered.',
      example: 'a-long-random-text-for-webhooks'
    })
    .optional(),
  WEBHOOK_SECRET_KEYS_OTHER: setting
    .secretList({
      description:
        'Other keys that these secrets may have been encrypted with, separated by commas: the next value of WEBHOOK_SECRET_KEY, on every replica before the first one uses it, and earlier values until every secret was rotated.',
      example: 'an-earlier-long-random-text-for-webhooks'
    })
    .optional()
}

/** Longer than an endpoint may be down and still get every event. */
const EVENT_RETENTION_DAYS_MIN = 3

/**
 * The events that the service tells of.
 *
 * @param example name of a client that may watch them
 */
export function eventSettings(example: string) {
  return {
    EVENT_RETENTION_DAYS: setting
      .wholeNumber(
        {
          description:
            'How long events are kept after they happened, in days. A reader that comes back later is told to read everything anew. They are deleted every PURGE_INTERVAL_SECONDS.',
          example: '30'
        },
        { min: EVENT_RETENTION_DAYS_MIN, max: RETENTION_DAYS_MAX }
      )
      .prefault('30'),
    GRPC_EVENT_CLIENTS: setting
      .clientNames({
        description:
          'Clients that may list and watch events, besides those of GRPC_OPERATOR_CLIENTS: URIs and DNS names of the subject alternative names of their certificates, separated by commas.',
        example
      })
      .optional()
  }
}

/** How the service stops. */
export const shutdownSettings = {
  SHUTDOWN_DELAY_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How long requests are still answered on shutdown while the service reports that it is not ready, in seconds: as long as a load balancer needs to notice. 0 if the balancer knows before, as with `preStop` in the Kubernetes manifests.',
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
