import {
  databaseSettings,
  eventSettings,
  type Environment,
  grpcClientsSetting,
  grpcListenerSettings,
  loadConfiguration,
  metricsSettings,
  operatorSettings,
  processSettings,
  publicListenerSettings,
  purgeSettings,
  rateLimitSettings,
  setting,
  sharedStoreSettings,
  shutdownSettings,
  signatureSettings,
  telemetrySettings,
  webhookSettings
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
  PUBLIC_URL: setting.grantEndpoint({
    description:
      'The grant endpoint, exactly as wallet addresses advertise it in `authServer`. If it has a path, it ends with a slash, because some clients add one. Every URL in an answer is built from it.',
    example: 'https://auth.wallet.example/'
  }),
  ...publicListenerSettings({
    port: 'Port of the public listener: clients and browsers of account holders.'
  }),
  CONSENT_PAGE_URL: setting.url({
    description: 'Consent page. Browsers are sent there with interactId, nonce, clientName and clientUri.',
    example: 'https://wallet.example/consent'
  }),
  CONSENT_PROOF: setting
    .oneOf(
      {
        description:
          "Whether an acceptance must prove the account holder's consent, with an ID token and a statement of ownership: `required`; with `none`, whoever knows IDENTITY_PROVIDER_SECRET may accept anything. Must be set in production; in development both are taken without it. See [your own consent page](consent-pages.md).",
        example: 'required'
      },
      ['none', 'required']
    )
    .optional(),
  CONSENT_ISSUERS: setting
    .text({
      description:
        'OpenID Connect issuers whose ID tokens prove consent, each with the client id that they must be for: `client-id@issuer`, separated by commas; the issuer exactly as in `iss`. Required with CONSENT_PROOF=required.',
      example: 'consent-page@https://login.wallet.example'
    })
    .optional(),
  CONSENT_ID_TOKEN_AGE_MAX_SECONDS: setting
    .wholeNumber(
      { description: 'Maximum age of an ID token that proves consent, in seconds.', example: '300' },
      { min: 10, max: 3600 }
    )
    .prefault('300'),
  CONSENT_CLOCK_TOLERANCE_SECONDS: setting
    .wholeNumber(
      {
        description: 'By how much the clocks of issuers and of the resource server may differ, in seconds.',
        example: '5'
      },
      { min: 0, max: 60 }
    )
    .prefault('5'),
  CONSENT_SIGN_IN_FROM: setting
    .text({
      description:
        'From which amount on an ID token that proves consent must be of a fresh sign-in, in major units by asset code: `100.00 USD, 90.00 EUR`. All that payments may take together counts, in all their intervals; without a limit, with one that begins anew without end, or in an asset that is not listed, it is always needed. `always`: for every consent.',
      example: '100.00 USD, 90.00 EUR'
    })
    .optional(),
  CONSENT_SIGN_IN_AGE_MAX_SECONDS: setting
    .wholeNumber(
      { description: 'Maximum age of a fresh sign-in (`auth_time`), in seconds.', example: '120' },
      { min: 10, max: 3600 }
    )
    .prefault('120'),
  CONSENT_SIGN_IN_ACR_VALUES: setting
    .text({
      description:
        'Authentication context classes, separated by spaces: a fresh sign-in must have one of them (`acr`). Any counts without the setting.',
      example: 'phr phrh'
    })
    .optional(),
  OWNERSHIP_PUBLIC_KEYS: setting
    .text({
      description:
        'Public keys of OWNERSHIP_KEYS of the resource server, which states who holds a wallet address: a JWK Set. Required with CONSENT_PROOF=required.',
      example: '{"keys":[{"kid":"ownership-1","kty":"OKP","crv":"Ed25519","alg":"EdDSA","x":"…"}]}'
    })
    .optional(),
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
        'Another secret that is still accepted in `x-idp-secret`: the previous one, while identity providers switch to the new one.',
      example: 'the-long-random-text-before'
    })
    .optional(),
  ...grpcListenerSettings({
    host: 'Address the gRPC listener binds to.',
    port: 'Port of the gRPC listener.'
  }),
  GRPC_INTROSPECTION_CLIENTS: grpcClientsSetting(
    'introspect access tokens and receive revocations',
    'spiffe://wallet.example/resource-server'
  ),
  GRPC_LIMITS_CLIENTS: grpcClientsSetting(
    'reserve and settle under grants, and audit spent amounts (only the resource server)',
    'spiffe://wallet.example/resource-server'
  ),
  GRPC_OPERATOR_CLIENTS: grpcClientsSetting(
    'list and revoke grants, and audit',
    'spiffe://wallet.example/operator'
  ),
  ...operatorSettings,
  GRPC_HOLDER_CLIENTS: setting
    .clientNames({
      description:
        'Clients that may show, pause, lower and stop grants for the account holders who consented to them: URIs and DNS names of the subject alternative names of their certificates, separated by commas. Without it nobody may. See [payments you allow](allowed-payments.md).',
      example: 'spiffe://wallet.example/web'
    })
    .optional(),
  ...metricsSettings,
  ...telemetrySettings,
  ...databaseSettings({ example: 'postgresql://auth:password@postgres:5432/auth?sslmode=verify-full' }),
  ...sharedStoreSettings,
  ...rateLimitSettings({
    description:
      'Maximum number of fetches per window of one document of a wallet address: the keys of a client are fetched before its signature can be verified.',
    requests: '60'
  }),
  ACCESS_TOKEN_LIFETIME_SECONDS: setting
    .wholeNumber(
      { description: 'Lifetime of an access token, in seconds.', example: '600' },
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
          'How long a client has to continue a grant after the account holder consented, in seconds. Longer than CONTINUATION_WAIT_SECONDS.',
        example: '600'
      },
      { min: 1, max: SECONDS_PER_DAY }
    )
    .prefault('600'),
  INTERACTION_FINISH_CODE_REQUIRED: setting
    .flag({
      description:
        'Whether every approval must request a finish code, so that only the browser in which the account holder consented can finish. For consent pages that support it: see [browser binding](decisions/browser-binding.md).',
      example: 'true'
    })
    .prefault('false'),
  INTERACTION_REQUIRED_FOR: setting
    .text({
      description:
        'Accesses that need consent in addition to those that always do, as `type:action` separated by commas.',
      example: 'incoming-payment:create,quote:create'
    })
    .optional(),
  ...signatureSettings,
  WALLET_ADDRESS_ORIGINS: setting
    .origins({
      description:
        "Origins of this provider's own wallet addresses, separated by commas. Slow hosts of strangers never block fetches from these, which every consent needs.",
      example: 'https://wallet.example'
    })
    .optional(),
  CLIENT_KEYS_CACHE_SECONDS: setting
    .wholeNumber(
      {
        description: "How long a client's keys and name are cached, in seconds.",
        example: '60'
      },
      { min: 0, max: SECONDS_PER_DAY }
    )
    .prefault('60'),
  CLIENT_KEYS_STALE_SECONDS: setting
    .wholeNumber(
      {
        description:
          "How much longer a client's keys are used while their host does not answer, in seconds; 0: not at all.",
        example: '300'
      },
      { min: 0, max: SECONDS_PER_DAY }
    )
    .prefault('300'),
  ...purgeSettings({
    interval: 'How often ended grants and tokens are deleted, in seconds; 0: never.',
    retention:
      'How long a grant that an account holder decided is kept after it ended, in days. Grants under which money moved, and grants with consent that can still be used, are kept for good.'
  }),
  PURGE_UNDECIDED_HOURS: setting
    .wholeNumber(
      {
        description:
          'How long an undecided grant is kept, in hours from the end of its interaction: anyone can request one.',
        example: '6'
      },
      { min: 1, max: HOURS_MAX }
    )
    .prefault('6'),
  PURGE_UNCONSENTED_HOURS: setting
    .wholeNumber(
      {
        description:
          'How long a grant that needed no consent is kept, in hours from the end of its last token, during which the token can still be rotated; and how long a rotated token is kept.',
        example: '24'
      },
      { min: 1, max: HOURS_MAX }
    )
    .prefault('24'),
  ...webhookSettings,
  ...eventSettings('spiffe://wallet.example/risk'),
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
