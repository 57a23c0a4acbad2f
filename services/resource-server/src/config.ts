import { DEFAULT_SLIPPAGE_BASIS_POINTS } from '@open-payments-server/interledger'
import {
  databaseSettings,
  eventSettings,
  type Environment,
  grpcClientSettings,
  grpcClientsSetting,
  grpcListenerSettings,
  loadConfiguration,
  metricsSettings,
  operatorAmountSettings,
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
const SECONDS_PER_YEAR = 365 * SECONDS_PER_DAY

/** The settings of the resource server: one environment variable each. */
export const resourceServerSchema = z.object({
  ...processSettings({ development: 'http URLs, reflection, and gRPC in plain text on this machine' }),
  PUBLIC_URL: setting.url({
    description: 'Public URL of this service. Wallet addresses and every URL in an answer are built from it.',
    example: 'https://wallet.example'
  }),
  AUTH_SERVER_URL: setting.grantEndpoint({
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
  ...operatorSettings,
  ...operatorAmountSettings,
  ...grpcClientSettings('AUTH', {
    service: 'auth server',
    knownBy: 'The auth server identifies it by the names in it.'
  }),
  ...metricsSettings,
  ...telemetrySettings,
  ...databaseSettings({ example: 'postgresql://wallet:password@postgres:5432/wallet?sslmode=verify-full' }),
  ...sharedStoreSettings,
  ...rateLimitSettings({
    description:
      "Maximum number of signed requests per window about one wallet address, of all clients together; counted separately for tokens with its account holder's consent to pay from it.",
    requests: '6000'
  }),
  WAITING_CLIENTS_MAX: setting
    .wholeNumber(
      {
        description:
          'Maximum number of clients that wait for changes of payments at one replica, with `Prefer: wait` or for events. Each takes up a connection. Default: four fifths of HTTP_CONNECTIONS_MAX.',
        example: '8000'
      },
      { min: 0, max: 1_000_000 }
    )
    .optional(),
  WAITING_PER_CLIENT_MAX: setting
    .wholeNumber(
      {
        description: 'Maximum number of requests of one client that wait at one replica.',
        example: '1000'
      },
      { min: 0, max: 1_000_000 }
    )
    .prefault('1000'),
  WAITING_HEARTBEAT_SECONDS: setting
    .wholeNumber(
      {
        description:
          'Maximum silence of a stream of events, in seconds. Less than the time after which proxies in front close a silent connection.',
        example: '15'
      },
      { min: 1, max: 60 }
    )
    .prefault('15'),
  INTROSPECTION_CACHE_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How long an active introspection answer is cached while the revocation stream is live, in seconds; 0 disables the cache.',
        example: '30'
      },
      { min: 0, max: 3600 }
    )
    .prefault('30'),
  SHARED_SECRET_KEY: setting.secret({
    description:
      'Master key from which the ILP addresses and shared secrets of incoming payments are derived. The same on every replica.',
    example: 'a-long-random-text'
  }),
  SHARED_SECRET_KEYS_OTHER: setting
    .secretList({
      description:
        'Other keys that addresses may have been told with, separated by commas: the next value of SHARED_SECRET_KEY, on every replica before the first one uses it, and earlier values until the last payment has expired that was read before.',
      example: 'an-earlier-long-random-text'
    })
    .optional(),
  ILP_ADDRESS: setting
    .text({
      description: 'ILP address of this provider, the prefix of those of incoming payments.',
      example: 'test.wallet'
    })
    .prefault('test.wallet'),
  ILP_HOST: setting
    .text({ description: 'Address the listener for peers binds to.', example: '0.0.0.0' })
    .prefault('0.0.0.0'),
  ILP_PORT: setting
    .port({
      description:
        'Port of the listener for peers: other providers post packets to it over HTTP. Without it no payment arrives from them.',
      example: '3010'
    })
    .optional(),
  ILP_PRIVATE_NETWORKS: setting
    .networks({
      description:
        'Private addresses and networks that endpoints of peers may have, also without TLS, separated by commas. In development also this machine.',
      example: '10.0.0.0/8,fd00::/8'
    })
    .optional(),
  PEER_SECRET_KEY: setting
    .secret({
      description:
        'Master key with which the tokens that peers expect are encrypted in the database. The same on every replica. Without it no peer can be created.',
      example: 'a-long-random-text-for-peers'
    })
    .optional(),
  PEER_SECRET_KEYS_OTHER: setting
    .secretList({
      description:
        'Other keys that these tokens may have been encrypted with, separated by commas: the next value of PEER_SECRET_KEY, on every replica before the first one uses it, and earlier values until every token was set anew.',
      example: 'an-earlier-long-random-text-for-peers'
    })
    .optional(),
  ILP_SLIPPAGE_BASIS_POINTS: setting
    .wholeNumber(
      {
        description:
          'Reserve of quotes to other providers for rates that change until the payment, in ten thousandths. None is taken where nothing is exchanged on the way.',
        example: '50'
      },
      { min: 0, max: 1_000 }
    )
    .prefault(String(DEFAULT_SLIPPAGE_BASIS_POINTS)),
  PROVIDER_KEYS: setting
    .secret({
      description:
        'Ed25519 private keys of this provider as a client of other providers: a JWK Set. The first signs; all are published at PUBLIC_URL + `/.well-known/pay/jwks.json`. The same on every replica. With it and PEER_SECRET_KEY, receivers at other providers can be paid.',
      example: '{"keys":[{"kid":"provider-1","kty":"OKP","crv":"Ed25519","x":"…","d":"…"}]}'
    })
    .optional(),
  WALLET_ADDRESS_BASE_URL: setting
    .url({
      description:
        'URL below which wallet addresses are. Default: PUBLIC_URL. Several installations may have the same one, if whatever is in front of them [routes each wallet address to its own](scaling.md#split-by-wallet). Never change it: wallet addresses would have other URLs.',
      example: 'https://wallet.example'
    })
    .optional(),
  GRPC_HOLDER_CLIENTS: setting
    .clientNames({
      description:
        'Clients that may ask who holds a wallet address, to prove consent: URIs and DNS names of the subject alternative names of their certificates, separated by commas. Required in production with OWNERSHIP_KEYS.',
      example: 'spiffe://wallet.example/web'
    })
    .optional(),
  OWNERSHIP_KEYS: setting
    .secret({
      description:
        'Ed25519 private keys that sign statements of who holds a wallet address: a JWK Set. The first signs. The auth server knows the public keys from its OWNERSHIP_PUBLIC_KEYS. The same on every replica. Without it nothing is stated.',
      example: '{"keys":[{"kid":"ownership-1","kty":"OKP","crv":"Ed25519","x":"…","d":"…"}]}'
    })
    .optional(),
  OWNERSHIP_LIFETIME_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How long such a statement is valid, in seconds: how long a former holder may still consent.',
        example: '300'
      },
      { min: 10, max: 3600 }
    )
    .prefault('300'),
  HOLDER_CLAIM: setting
    .text({
      description:
        'Claim of ID tokens that names accounts: one name, or a list. Whoever has the name of an account in it holds the account, unless an operator set another holder. Only for a claim that nobody can change about themselves. Needs HOLDER_CLAIM_ISSUER.',
      example: 'accounts'
    })
    .optional(),
  HOLDER_CLAIM_ISSUER: setting
    .text({
      description: 'Issuer whose ID tokens have HOLDER_CLAIM, exactly as in `iss`.',
      example: 'https://login.wallet.example'
    })
    .optional(),
  WALLET_ADDRESS_PAGE_URL: setting
    .url({
      description:
        'Page to which browsers are redirected when they open a wallet address, with `walletAddress` in the query. Without it they get the same JSON as other clients.',
      example: 'https://wallet.example/pay'
    })
    .optional(),
  WALLET_ADDRESS_CACHE_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How long others may cache a wallet address or its keys, in seconds: `max-age`; for keys a second less, for which they are cached here.',
        example: '60'
      },
      { min: 0, max: SECONDS_PER_DAY }
    )
    .prefault('60'),
  PAYMENT_REPRESENTATION: setting
    .oneOf(
      {
        description:
          'Whether `updatedAt`, `failureReason`, `state` and refunds are shown where the published API has no such fields: `negotiated` by `Accept`, always (`full`) or never (`published`).',
        example: 'negotiated'
      },
      ['negotiated', 'full', 'published']
    )
    .prefault('negotiated'),
  INCOMING_PAYMENT_LIFETIME_SECONDS: setting
    .wholeNumber(
      {
        description: 'Lifetime of an incoming payment without `expiresAt`, in seconds.',
        example: '2592000'
      },
      { min: 1, max: SECONDS_PER_YEAR }
    )
    .prefault('2592000'),
  QUOTE_LIFETIME_SECONDS: setting
    .wholeNumber(
      { description: 'Lifetime of a quote, in seconds.', example: '300' },
      { min: 1, max: SECONDS_PER_DAY }
    )
    .prefault('300'),
  EXCHANGE_RATES: setting
    .text({
      description:
        'Rates between assets: target units per source unit, as decimal numbers, `SOURCE/TARGET=rate` separated by commas. Assets with the same code convert one to one.',
      example: 'USD/EUR=0.92,EUR/USD=1.08'
    })
    .optional(),
  EXCHANGE_RATES_URL: setting
    .url({
      description:
        'Service that answers `GET ?source=USD&target=EUR` with `{ "rate": "0.92" }`, or 404 if it has no rate. Both directions are requested together. Rates that allow a gain in a cycle are refused. Used instead of EXCHANGE_RATES.',
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
  FREEZE_PENDING_PAYMENTS: setting
    .oneOf(
      {
        description:
          'What happens to pending payments when the account, the wallet address or the client of one is frozen, or whom it pays: `hold` until the freeze ends, with the money on hold, or `finish` as if nothing had happened.',
        example: 'hold'
      },
      ['hold', 'finish']
    )
    .prefault('hold'),
  PROCESSING_POLL_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How often pending payments are looked for without a wake-up, in seconds. Much less than the ten minutes for which payments between currencies are made after their terms.',
        example: '5'
      },
      { min: 1, max: 3600 }
    )
    .prefault('5'),
  APPROVAL_TIMEOUT_SECONDS: setting
    .wholeNumber(
      {
        description:
          'How long a payment that meets an approval rule waits for the decision, in seconds; then it is declined. One to another provider or currency waits no longer than its terms stand (QUOTE_LIFETIME_SECONDS). At most PURGE_RETENTION_DAYS, so that its receiver is still there.',
        example: '86400'
      },
      { min: 1, max: 30 * SECONDS_PER_DAY }
    )
    .prefault(String(SECONDS_PER_DAY)),
  SWEEP_INTERVAL_SECONDS: setting
    .wholeNumber(
      { description: 'How often reservations without a payment are looked for, in seconds.', example: '60' },
      { min: 1, max: 3600 }
    )
    .prefault('60'),
  ORPHAN_AGE_SECONDS: setting
    .wholeNumber(
      {
        description: 'Age from which a reservation without a payment is released, in seconds.',
        example: '300'
      },
      { min: 1, max: 86_400 }
    )
    .prefault('300'),
  ...purgeSettings({
    interval: 'How often expired quotes and incoming payments are deleted, in seconds; 0: never.',
    retention:
      'How long they are kept after they expired, in days. Paid quotes, and incoming payments that received anything, are kept for good: see [retention](decisions/retention.md).'
  }),
  ...webhookSettings,
  ...eventSettings('spiffe://wallet.example/risk'),
  ...shutdownSettings
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
