import { hkdfSync } from 'node:crypto'
import { createPaymentAddresses } from '@open-payments-server/interledger'
import type { RateLimits } from '@open-payments-server/service-kit/rate-limits'
import { createPaymentMethods } from '../domain/payment-methods.js'
import { createResourceUrls } from '../domain/resource-urls.js'
import { createRequestAuthorizer } from '../features/authorize-request/request-authorizer.js'
import { TokenRecords } from '../features/authorize-request/token-records.js'
import { parseFeeTable } from '../features/exchange-rates/fee-table.js'
import { createRateProvider } from '../features/exchange-rates/rate-provider.js'
import { countRequests } from '../features/limit-requests/counted-requests.js'
import { createFrozenClients } from '../grpc/auth-server/frozen-clients.js'
import { WatchedTokens } from '../features/wait-for-changes/watched-tokens.js'
import { createGrantLimits } from '../grpc/auth-server/grant-limits.js'
import { createIntrospection } from '../grpc/auth-server/introspection.js'
import { createLimitsAuditor } from '../grpc/auth-server/limits-auditor.js'
import { createRevocationFeed } from '../grpc/auth-server/revocations.js'
import { createChooseRepresentation } from '../http/representation.js'
import { countFailures } from '../metrics/authentication-metrics.js'
import { publishRevocationStream } from '../metrics/revocation-metrics.js'
import { createReceiverDirectory, rememberReceivers } from '../modules/incoming-payments/index.js'
import { rememberQuotes } from '../modules/quotes/index.js'
import {
  createPublishedKeyDirectory,
  createWalletAddressDirectory
} from '../modules/wallet-addresses/index.js'
import { followRevocations, sayingFreezes, tellInOrder } from '../workers/follow-revocations.js'
import type { Context, ResourceServerOverrides } from './context.js'
import type { ServedMetrics } from './metrics.js'
import type { Resources } from './resources.js'

export type DomainPorts = ReturnType<typeof createDomainPorts>

/** The ports that several features share. */
export function createDomainPorts(
  { config, logger, lifecycle, clock }: Context,
  {
    database,
    sharedStore,
    authServer,
    rateLimits,
    metrics,
    counters
  }: Resources & { readonly rateLimits: RateLimits | undefined } & Pick<
      ServedMetrics,
      'metrics' | 'counters'
    >,
  overrides: ResourceServerOverrides
) {
  const urls = createResourceUrls(config.PUBLIC_URL, config.WALLET_ADDRESS_BASE_URL)
  const receivers = createReceiverDirectory({ database, urls })
  const paymentAddresses = createPaymentAddresses({
    ilpAddress: config.ILP_ADDRESS,
    secrets: [
      addressSecretOf(config.SHARED_SECRET_KEY.reveal()),
      ...(config.SHARED_SECRET_KEYS_OTHER?.reveal() ?? []).map(addressSecretOf)
    ]
  })
  const { tokens, watchedTokens, onFreezesChanged } = followTokens(
    { config, logger, lifecycle, clock },
    authServer,
    {
      metrics,
      counters
    }
  )
  const uncounted = createRequestAuthorizer({
    tokens,
    sharedStore,
    clock,
    publicUrl: config.PUBLIC_URL,
    policy: {
      ageMaxSeconds: config.SIGNATURE_AGE_MAX_SECONDS,
      futureMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
      tagRequired: config.SIGNATURE_TAG_REQUIRED,
      authorizationRequired: true,
      releasedClientForms: config.SIGNATURE_RELEASED_CLIENT_FORMS
    },
    countVerified: rateLimits && countRequests(rateLimits, urls)
  })
  return {
    urls,
    watchedTokens,
    walletAddresses: createWalletAddressDirectory({ database, urls }),
    publishedKeys: createPublishedKeyDirectory({ database }),
    authorizer: countFailures(uncounted, counters.countAuthenticationFailure),
    grantLimits: createGrantLimits(authServer.grantLimits, { deadlineMs: config.AUTH_GRPC_DEADLINE_MS }),
    limitsAuditor: createLimitsAuditor(authServer.grantOperator),
    frozenClients: createFrozenClients(authServer.grantOperator),
    /** Called whenever the list of frozen clients may be another one. */
    onFreezesChanged,
    receivers,
    rememberedReceivers: rememberReceivers(receivers),
    rememberedQuotes: rememberQuotes(),
    termSources: {
      rates: overrides.rates ?? createRateProvider(config, { clock, logger, lifecycle }),
      fees: parseFeeTable(config.FEES)
    },
    paymentAddresses,
    methods: createPaymentMethods(paymentAddresses),
    chooseRepresentation: createChooseRepresentation(config.PAYMENT_REPRESENTATION)
  }
}

/** The secret of addresses that a master key stands for: 32 bytes. */
function addressSecretOf(masterKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', 'addresses of payments', 32))
}

/**
 * What is known of tokens, who is told when one ends, and what is called whenever the list of frozen clients may be another one.
 */
function followTokens(
  { config, logger, lifecycle, clock }: Pick<Context, 'config' | 'logger' | 'lifecycle' | 'clock'>,
  authServer: Resources['authServer'],
  { metrics, counters }: Pick<ServedMetrics, 'metrics' | 'counters'>
) {
  const tokens = new TokenRecords({
    introspection: createIntrospection(authServer.introspection),
    clock,
    cacheSeconds: config.INTROSPECTION_CACHE_SECONDS,
    countLookup: counters.countTokenLookup
  })
  const watchedTokens = new WatchedTokens((accessToken, keyId) => tokens.find(accessToken, keyId))
  const onFreezesChanged: (() => void)[] = []
  lifecycle.add(
    followRevocations({
      feed: createRevocationFeed(authServer.introspection),
      listener: sayingFreezes(publishRevocationStream(tellInOrder([tokens, watchedTokens]), metrics), () => {
        for (const tell of onFreezesChanged) tell()
      }),
      logger
    })
  )
  return { tokens, watchedTokens, onFreezesChanged }
}
