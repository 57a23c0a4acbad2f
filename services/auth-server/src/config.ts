import { type Environment, loadConfiguration, setting } from '@open-payments-server/configuration'
import { LOG_LEVELS } from '@open-payments-server/runtime'
import { z } from 'zod'

const SECONDS_PER_DAY = 86_400

/** The settings of the auth server: one environment variable each. */
export const authServerSchema = z.object({
  ENVIRONMENT: setting
    .oneOf(
      {
        description:
          'What the service runs for. `development` allows http URLs, clients on private networks and reflection.',
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
      'The grant endpoint, exactly as wallet addresses advertise it in `authServer`. Every address in an answer is built from it.',
    example: 'https://auth.wallet.example/'
  }),
  HTTP_HOST: setting
    .text({ description: 'Address the public listener binds to.', example: '0.0.0.0' })
    .prefault('0.0.0.0'),
  HTTP_PORT: setting
    .port({
      description: 'Port of the public listener: clients and browsers of account holders.',
      example: '3000'
    })
    .prefault('3000'),
  CONSENT_PAGE_URL: setting.url({
    description:
      'Page that asks the account holder. Browsers are sent there with interactId, nonce, clientName and clientUri.',
    example: 'https://wallet.example/consent'
  }),
  IDENTITY_PROVIDER_HOST: setting
    .text({
      description: 'Address the identity-provider listener binds to. Not for the internet.',
      example: '0.0.0.0'
    })
    .prefault('0.0.0.0'),
  IDENTITY_PROVIDER_PORT: setting
    .port({ description: 'Port of the identity-provider listener.', example: '3001' })
    .prefault('3001'),
  IDENTITY_PROVIDER_SECRET: setting.secret({
    description: 'What the identity provider sends in `x-idp-secret`.',
    example: 'a-long-random-text'
  }),
  INTERACTION_COOKIE_SECRET: setting.secret({
    description:
      'Key of the cookie that binds an interaction to the browser that started it. The same on every replica.',
    example: 'another-long-random-text'
  }),
  GRPC_HOST: setting
    .text({ description: 'Address the gRPC listener binds to.', example: '0.0.0.0' })
    .prefault('0.0.0.0'),
  GRPC_PORT: setting.port({ description: 'Port of the gRPC listener.', example: '3002' }).prefault('3002'),
  GRPC_REFLECTION: setting
    .flag({ description: 'Whether gRPC reflection is served.', example: 'false' })
    .prefault('false'),
  DATABASE_URL: setting.connectionUrl({
    description: 'The PostgreSQL database of this service.',
    example: 'postgresql://auth:password@postgres:5432/auth'
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
  ACCESS_TOKEN_LIFETIME_SECONDS: setting
    .wholeNumber(
      { description: 'How long an access token lives, in seconds.', example: '600' },
      { min: 1, max: SECONDS_PER_DAY }
    )
    .prefault('600'),
  CONTINUATION_WAIT_SECONDS: setting
    .wholeNumber(
      {
        description: 'How long a client must wait before it continues a pending grant, in seconds.',
        example: '5'
      },
      { min: 0, max: 3600 }
    )
    .prefault('5'),
  INTERACTION_LIFETIME_SECONDS: setting
    .wholeNumber(
      { description: 'How long the account holder has to answer, in seconds.', example: '600' },
      { min: 1, max: SECONDS_PER_DAY }
    )
    .prefault('600'),
  INTERACTION_REQUIRED_FOR: setting
    .text({
      description:
        'Accesses that need the account holder beyond those that always do, as `type:action` separated by commas.',
      example: 'incoming-payment:create,quote:create'
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
  CLIENT_KEYS_CACHE_SECONDS: setting
    .wholeNumber(
      {
        description:
          "Longest that a client's keys and name are kept before they are fetched again, in seconds.",
        example: '60'
      },
      { min: 0, max: SECONDS_PER_DAY }
    )
    .prefault('60'),
  SHUTDOWN_GRACE_SECONDS: setting
    .wholeNumber(
      { description: 'How long running requests may take to finish on shutdown, in seconds.', example: '25' },
      { min: 1, max: 600 }
    )
    .prefault('25')
})

/** The settings of the auth server, parsed. */
export type AuthServerConfig = Readonly<z.output<typeof authServerSchema>>

/**
 * Reads the settings of the auth server.
 *
 * @throws ConfigurationError naming every setting that is wrong
 */
export function loadConfig(environment: Environment): AuthServerConfig {
  return loadConfiguration(authServerSchema, environment)
}
