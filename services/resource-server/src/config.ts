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
const SECONDS_PER_YEAR = 365 * SECONDS_PER_DAY

/** The settings of the resource server: one environment variable each. */
export const resourceServerSchema = z.object({
  ...processSettings({ development: 'http URLs, reflection, and gRPC in plain text on this machine' }),
  PUBLIC_URL: setting.url({
    description:
      'Where clients reach this service. Wallet addresses and every address in an answer are built from it.',
    example: 'https://wallet.example'
  }),
  AUTH_SERVER_URL: setting.url({
    description: "The auth server's grant endpoint: exactly its PUBLIC_URL. Wallet addresses advertise it.",
    example: 'https://auth.wallet.example/'
  }),
  ...publicListenerSettings({ port: 'Port of the public listener.' }),
  ...grpcListenerSettings({
    host: 'Address the operator gRPC listener binds to. Not for the internet.',
    port: 'Port of the operator gRPC listener.'
  }),
  GRPC_OPERATOR_CLIENTS: grpcClientsSetting(
    'operate wallets, money and payments, and audit',
    'spiffe://wallet.example/operator'
  ),
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
  AUTH_GRPC_TLS_CA_FILE: setting
    .text({
      description:
        "Certificates of the authorities that sign the auth server's: a PEM file. Required in production. Read again when it is replaced, like the two below: see [mutual TLS](decisions/mutual-tls.md).",
      example: '/run/secrets/grpc/ca.crt'
    })
    .optional(),
  AUTH_GRPC_TLS_CERTIFICATE_FILE: setting
    .text({
      description:
        'Certificate that this service shows to the auth server: a PEM file. The auth server knows it by the names in it.',
      example: '/run/secrets/grpc/tls.crt'
    })
    .optional(),
  AUTH_GRPC_TLS_KEY_FILE: setting
    .text({ description: 'Key of that certificate: a PEM file.', example: '/run/secrets/grpc/tls.key' })
    .optional(),
  AUTH_GRPC_TLS_SERVER_NAME: setting
    .text({
      description:
        "DNS name that the auth server's certificate must bear: the host of AUTH_GRPC_TARGET unless set. Required where that is an address.",
      example: 'auth-server-grpc'
    })
    .optional(),
  ...metricsSettings,
  ...telemetrySettings,
  ...databaseSettings({ example: 'postgresql://wallet:password@postgres:5432/wallet' }),
  ...sharedStoreSettings,
  ...rateLimitSettings({
    description:
      'Most signed requests within a window about one wallet address, of all clients together; counted apart for clients that its account holder let pay from it.',
    requests: '6000'
  }),
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
      'Master key that the shared secrets of incoming payments are derived from. The same on every replica.',
    example: 'a-long-random-text'
  }),
  SHARED_SECRET_KEYS_OTHER: setting
    .secretList({
      description:
        'Other keys that payments may have been made with, separated by commas: the next value of SHARED_SECRET_KEY, on every replica before the first one uses it, and earlier values until the last of their payments has expired. Payments keep the key they were made with.',
      example: 'an-earlier-long-random-text'
    })
    .optional(),
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
      {
        description:
          'How long others may go by a wallet address or its keys that they asked for, in seconds: `max-age`; of keys a second less, for which they are remembered here.',
        example: '60'
      },
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
        'Service that answers `GET ?source=USD&target=EUR` with `{ "rate": "0.92" }`, and 404 where it has no rate. Both directions are asked for at once. Rates with which going round gains are refused. Used in place of EXCHANGE_RATES.',
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
  ...signatureSettings,
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
  ...purgeSettings({
    interval:
      'How often quotes and incoming payments that are over are looked for and deleted, in seconds; 0: never.',
    retention:
      'How long they are kept once they have expired, in days. Quotes that were paid, and incoming payments that received anything, are kept for good: see [retention](decisions/retention.md).'
  }),
  ...shutdownSettings
})

/** The settings that name the files of the certificates shown to the auth server, and by which its own is judged. */
export const AUTH_GRPC_TLS = {
  certificate: 'AUTH_GRPC_TLS_CERTIFICATE_FILE',
  key: 'AUTH_GRPC_TLS_KEY_FILE',
  authority: 'AUTH_GRPC_TLS_CA_FILE'
} as const

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
