import {
  databaseSettings,
  type Environment,
  grpcListenerSettings,
  loadConfiguration,
  metricsSettings,
  processSettings,
  publicListenerSettings,
  setting,
  sharedStoreSettings,
  shutdownSettings,
  signatureSettings
} from '@open-payments-server/configuration'
import { z } from 'zod'

const SECONDS_PER_DAY = 86_400

/** The settings of the auth server: one environment variable each. */
export const authServerSchema = z.object({
  ...processSettings({ development: 'http URLs, clients on private networks and reflection' }),
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
  INTERACTION_COOKIE_SECRET: setting.secret({
    description:
      'Key of the cookie that binds an interaction to the browser that started it. The same on every replica.',
    example: 'another-long-random-text'
  }),
  ...grpcListenerSettings({
    host: 'Address the gRPC listener binds to.',
    port: 'Port of the gRPC listener.'
  }),
  ...metricsSettings,
  ...databaseSettings({ example: 'postgresql://auth:password@postgres:5432/auth' }),
  ...sharedStoreSettings,
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
  ...signatureSettings,
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
