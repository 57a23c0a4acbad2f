import { type Environment, loadConfiguration, setting } from '@open-payments-server/configuration'
import { LOG_LEVELS } from '@open-payments-server/runtime'
import { z } from 'zod'

const SECONDS_PER_DAY = 86_400
const SECONDS_PER_YEAR = 365 * SECONDS_PER_DAY

/** The settings of the resource server: one environment variable each. */
export const resourceServerSchema = z.object({
  ENVIRONMENT: setting
    .oneOf(
      {
        description: 'What the service runs for. `development` allows http URLs and reflection.',
        example: 'production'
      },
      ['production', 'development']
    )
    .prefault('production'),
  LOG_LEVEL: setting
    .oneOf({ description: 'Least serious level that is logged.', example: 'info' }, LOG_LEVELS)
    .prefault('info'),
  REPLICA_COUNT: setting
    .wholeNumber(
      { description: 'How many replicas of this service run. More than one need REDIS_URL.', example: '3' },
      { min: 1, max: 1000 }
    )
    .prefault('1'),
  PUBLIC_URL: setting.url({
    description:
      'Where clients reach this service. Wallet addresses and every address in an answer are built from it.',
    example: 'https://wallet.example'
  }),
  AUTH_SERVER_URL: setting.url({
    description: "The auth server's grant endpoint: exactly its PUBLIC_URL. Wallet addresses advertise it.",
    example: 'https://auth.wallet.example/'
  }),
  HTTP_HOST: setting
    .text({ description: 'Address the public listener binds to.', example: '0.0.0.0' })
    .prefault('0.0.0.0'),
  HTTP_PORT: setting.port({ description: 'Port of the public listener.', example: '3000' }).prefault('3000'),
  GRPC_HOST: setting
    .text({
      description: 'Address the operator gRPC listener binds to. Not for the internet.',
      example: '0.0.0.0'
    })
    .prefault('0.0.0.0'),
  GRPC_PORT: setting
    .port({ description: 'Port of the operator gRPC listener.', example: '3002' })
    .prefault('3002'),
  GRPC_REFLECTION: setting
    .flag({ description: 'Whether gRPC reflection is served.', example: 'false' })
    .prefault('false'),
  AUTH_GRPC_TARGET: setting.text({
    description: "The auth server's gRPC address.",
    example: 'dns:///auth-server-grpc:3002'
  }),
  AUTH_GRPC_DEADLINE_MS: setting
    .wholeNumber(
      {
        description: 'Most that one call of the auth server may take, retries included, in milliseconds.',
        example: '3000'
      },
      { min: 50, max: 60_000 }
    )
    .prefault('3000'),
  DATABASE_URL: setting.connectionUrl({
    description: 'The PostgreSQL database of this service.',
    example: 'postgresql://wallet:password@postgres:5432/wallet'
  }),
  DATABASE_CONNECTIONS_MAX: setting
    .wholeNumber(
      { description: 'Most connections to the database at once.', example: '16' },
      { min: 2, max: 500 }
    )
    .prefault('16'),
  REDIS_URL: setting
    .connectionUrl({
      description:
        'Redis that the replicas share. Without it, one process keeps to itself what replicas would share.',
      example: 'redis://redis:6379'
    })
    .optional(),
  INTROSPECTION_CACHE_SECONDS: setting
    .wholeNumber(
      {
        description:
          'Longest that an active introspection answer is kept while the revocation stream is live, in seconds; 0 asks every time.',
        example: '30'
      },
      { min: 0, max: 3600 }
    )
    .prefault('30'),
  SHARED_SECRET_KEY: setting.secret({
    description:
      'Master key that the shared secret of every incoming payment is derived from. The same on every replica.',
    example: 'a-long-random-text'
  }),
  ILP_ADDRESS: setting
    .text({
      description: 'ILP address of this provider; those of incoming payments begin with it.',
      example: 'test.wallet'
    })
    .prefault('test.wallet'),
  WALLET_ADDRESS_PAGE_URL: setting
    .url({
      description:
        'Page that browsers are sent to when they open a wallet address, with `walletAddress` in the query. Without it they get the same JSON as everyone.',
      example: 'https://wallet.example/pay'
    })
    .optional(),
  WALLET_ADDRESS_CACHE_SECONDS: setting
    .wholeNumber(
      { description: '`max-age` of wallet addresses and their keys, in seconds.', example: '60' },
      { min: 0, max: SECONDS_PER_DAY }
    )
    .prefault('60'),
  PAYMENT_REPRESENTATION: setting
    .oneOf(
      {
        description:
          'Whether `updatedAt` is shown where the published API has no such field: `negotiated` by `Accept`, always (`full`) or never (`published`).',
        example: 'negotiated'
      },
      ['negotiated', 'full', 'published']
    )
    .prefault('negotiated'),
  INCOMING_PAYMENT_LIFETIME_SECONDS: setting
    .wholeNumber(
      {
        description: 'When an incoming payment expires that names no `expiresAt`, in seconds.',
        example: '2592000'
      },
      { min: 1, max: SECONDS_PER_YEAR }
    )
    .prefault('2592000'),
  QUOTE_LIFETIME_SECONDS: setting
    .wholeNumber(
      { description: 'How long a quote may be used, in seconds.', example: '300' },
      { min: 1, max: SECONDS_PER_DAY }
    )
    .prefault('300'),
  EXCHANGE_RATES: setting
    .text({
      description:
        'Rates between assets: target units per unit of the source, as decimal numbers, `SOURCE/TARGET=rate` separated by commas. Assets of the same code are one to one.',
      example: 'USD/EUR=0.92,EUR/USD=1.08'
    })
    .optional(),
  EXCHANGE_RATES_URL: setting
    .url({
      description:
        'Service that answers `GET ?source=USD&target=EUR` with `{ "rate": "0.92" }`. Used in place of EXCHANGE_RATES.',
      example: 'https://rates.wallet.example/v1/rate'
    })
    .optional(),
  EXCHANGE_RATES_CACHE_SECONDS: setting
    .wholeNumber(
      { description: 'How long a rate from EXCHANGE_RATES_URL is used, in seconds.', example: '15' },
      { min: 0, max: 3600 }
    )
    .prefault('15'),
  FEES: setting
    .text({
      description:
        'Fees of outgoing payments by asset of the sender: `CODE=fixed+basis points`, the fixed part in units of the asset, separated by commas.',
      example: 'USD=10+50,EUR=0+25'
    })
    .optional(),
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
  PROCESSING_POLL_SECONDS: setting
    .wholeNumber(
      {
        description: 'How often pending payments are looked for when nothing announced any, in seconds.',
        example: '5'
      },
      { min: 1, max: 3600 }
    )
    .prefault('5'),
  SWEEP_INTERVAL_SECONDS: setting
    .wholeNumber(
      { description: 'How often reservations without a payment are looked for, in seconds.', example: '60' },
      { min: 1, max: 3600 }
    )
    .prefault('60'),
  ORPHAN_AGE_SECONDS: setting
    .wholeNumber(
      {
        description: 'Age from which a reservation without a payment is given back, in seconds.',
        example: '300'
      },
      { min: 1, max: 86_400 }
    )
    .prefault('300'),
  SHUTDOWN_GRACE_SECONDS: setting
    .wholeNumber(
      { description: 'How long running requests may take to finish on shutdown, in seconds.', example: '25' },
      { min: 1, max: 600 }
    )
    .prefault('25')
})

/** The settings of the resource server, parsed. */
export type ResourceServerConfig = Readonly<z.output<typeof resourceServerSchema>>

/**
 * Reads the settings of the resource server.
 *
 * @throws ConfigurationError naming every setting that is wrong
 */
export function loadConfig(environment: Environment): ResourceServerConfig {
  return loadConfiguration(resourceServerSchema, environment)
}
