import {
  databaseSettings,
  type Environment,
  grpcClientsSetting,
  grpcListenerSettings,
  loadConfiguration,
  metricsSettings,
  processSettings,
  publicListenerSettings,
  purgeSettings,
  rateLimitSettings,
  setting,
  sharedStoreSettings,
  shutdownSettings,
  signatureSettings,
  telemetrySettings
} from '@open-payments-server/runtime/configuration'
import { z } from 'zod'

const SECONDS_PER_DAY = 86_400
/** 100 years. */
const HOURS_MAX = 876_000

/** The settings of the auth server: one environment variable each. */
export const authServerSchema = z.object({
  ...processSettings({
    development: 'http URLs, clients on private networks, reflection, and gRPC in plain text on this machine'
  }),
  PUBLIC_URL: setting.url({
    description:
      'The grant endpoint, exactly as wallet addresses advertise it in `authServer`. Every address in an answer is built from it.',
    example: 'https://auth.wallet.example/'
  }),
  ...publicListenerSettings({
    port: 'Port of the public listener: clients and browsers of account holders.'
  }),
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
  IDENTITY_PROVIDER_SECRET_PREVIOUS: setting
    .secret({
      description:
        'Another secret that is still accepted in `x-idp-secret`: the one before, while identity providers change over.',
      example: 'the-long-random-text-before'
    })
    .optional(),
  ...grpcListenerSettings({
    host: 'Address the gRPC listener binds to.',
    port: 'Port of the gRPC listener.'
  }),
  GRPC_INTROSPECTION_CLIENTS: grpcClientsSetting(
    'ask what access tokens are worth, and be told of revocations',
    'spiffe://wallet.example/resource-server'
  ),
  GRPC_LIMITS_CLIENTS: grpcClientsSetting(
    'reserve and settle under grants, and audit what these have spent (the resource server, and nobody else)',
    'spiffe://wallet.example/resource-server'
  ),
  GRPC_OPERATOR_CLIENTS: grpcClientsSetting(
    'list and revoke grants, and audit',
    'spiffe://wallet.example/operator'
  ),
  ...metricsSettings,
  ...telemetrySettings,
  ...databaseSettings({ example: 'postgresql://auth:password@postgres:5432/auth' }),
  ...sharedStoreSettings,
  ...rateLimitSettings({
    description:
      'Most fetches within a window of one document of a wallet address: the keys of a client are fetched before its signature can be verified.',
    requests: '60'
  }),
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
  INTERACTION_REFERENCE_LIFETIME_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How long a client has to continue a grant once the account holder agreed, in seconds. Longer than CONTINUATION_WAIT_SECONDS.',
        example: '600'
      },
      { min: 1, max: SECONDS_PER_DAY }
    )
    .prefault('600'),
  INTERACTION_FINISH_CODE_REQUIRED: setting
    .flag({
      description:
        'Whether every approval must ask for a finish code, so that only the browser that agreed can finish. For consent pages that can do that: see [browser binding](decisions/browser-binding.md).',
      example: 'true'
    })
    .prefault('false'),
  INTERACTION_REQUIRED_FOR: setting
    .text({
      description:
        'Accesses that need the account holder beyond those that always do, as `type:action` separated by commas.',
      example: 'incoming-payment:create,quote:create'
    })
    .optional(),
  ...signatureSettings,
  WALLET_ADDRESS_ORIGINS: setting
    .origins({
      description:
        "Origins of this provider's own wallet addresses, separated by commas. Strangers whose hosts are slow never take the places for requests to these: every consent needs one.",
      example: 'https://wallet.example'
    })
    .optional(),
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
  CLIENT_KEYS_STALE_SECONDS: setting
    .wholeNumber(
      {
        description:
          "How much longer a client's keys are used while whoever publishes them does not answer, in seconds; 0: not at all.",
        example: '300'
      },
      { min: 0, max: SECONDS_PER_DAY }
    )
    .prefault('300'),
  ...purgeSettings({
    interval: 'How often grants and tokens that are over are looked for and deleted, in seconds; 0: never.',
    retention:
      'How long grants are kept that an account holder decided, once they are over, in days. Grants under which money moved, and agreed ones that can still be used, are kept for good.'
  }),
  PURGE_UNDECIDED_HOURS: setting
    .wholeNumber(
      {
        description:
          'How long a grant is kept that nobody decided, in hours from the end of its interaction: anybody can ask for one.',
        example: '6'
      },
      { min: 1, max: HOURS_MAX }
    )
    .prefault('6'),
  PURGE_UNCONSENTED_HOURS: setting
    .wholeNumber(
      {
        description:
          'How long a grant is kept that needed no consent, in hours from the end of its last token, in which the token can still be rotated; and how long a token is kept that was rotated.',
        example: '24'
      },
      { min: 1, max: HOURS_MAX }
    )
    .prefault('24'),
  ...shutdownSettings
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
