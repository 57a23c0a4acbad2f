import { fileURLToPath } from 'node:url'
import type { Route } from '@open-payments-server/http-server'
import { databaseDependency, type Dependency, Readiness } from '@open-payments-server/service-kit/health'
import { completeIncomingPaymentRoute } from '../features/complete-incoming-payment/routes.js'
import { createIncomingPaymentRoute } from '../features/create-incoming-payment/routes.js'
import { createOutgoingPaymentRoute } from '../features/create-outgoing-payment/routes.js'
import { createQuoteRoute } from '../features/create-quote/routes.js'
import { getGrantSpentAmountsRoute } from '../features/get-grant-spent-amounts/routes.js'
import { getIncomingPaymentRoute } from '../features/get-incoming-payment/routes.js'
import { getOutgoingPaymentRoute } from '../features/get-outgoing-payment/routes.js'
import { getQuoteRoute } from '../features/get-quote/routes.js'
import { listIncomingPaymentsRoute, listOutgoingPaymentsRoute } from '../features/list-payments/routes.js'
import { serveWalletAddressKeysRoute } from '../features/serve-wallet-address-keys/routes.js'
import { createProviderWalletAddress } from '../features/serve-wallet-address/provider-wallet-address.js'
import { serveWalletAddressRoute } from '../features/serve-wallet-address/routes.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { OtherProviders } from './other-providers.js'
import type { Resources } from './resources.js'
import type { Waiting } from './waiting.js'
import type { Wakers } from './workers.js'

const MIGRATIONS_PATH = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
/** How long readiness waits for the auth server's channel, in milliseconds. */
const READINESS_TIMEOUT_MS = 1_000

/** What the routes are made of. */
export interface RouteParts {
  readonly context: Context
  readonly resources: Resources
  readonly domain: DomainPorts
  readonly others: OtherProviders
  readonly wakers: Wakers
  readonly counters: Counters
  readonly waiting: Pick<Waiting, 'servePayment'>
}

/** The routes of every feature. Wallet addresses take any path that no other takes, so they are last. */
export function createRoutes(parts: RouteParts): Route[] {
  const { context, resources, domain, others, wakers, counters, waiting } = parts
  const { config } = context
  const dependencies = {
    ...context,
    ...resources,
    ...domain,
    ...others,
    ...wakers,
    ...waiting,
    counters,
    authServerUrl: config.AUTH_SERVER_URL
  }
  const incomingLifetimeSeconds = config.INCOMING_PAYMENT_LIFETIME_SECONDS
  const quoteLifetimeSeconds = config.QUOTE_LIFETIME_SECONDS
  const approvalTimeoutSeconds = config.APPROVAL_TIMEOUT_SECONDS
  const { clientIdentity } = others
  const providerWalletAddress =
    clientIdentity && createProviderWalletAddress({ ...resources, url: clientIdentity.walletAddress })
  const cacheSeconds = config.WALLET_ADDRESS_CACHE_SECONDS
  return [
    createIncomingPaymentRoute({ ...dependencies, lifetimeSeconds: incomingLifetimeSeconds }),
    getIncomingPaymentRoute(dependencies),
    listIncomingPaymentsRoute(dependencies),
    completeIncomingPaymentRoute(dependencies),
    createQuoteRoute({ ...dependencies, lifetimeSeconds: quoteLifetimeSeconds }),
    getQuoteRoute(dependencies),
    createOutgoingPaymentRoute({ ...dependencies, quoteLifetimeSeconds, approvalTimeoutSeconds }),
    getOutgoingPaymentRoute(dependencies),
    listOutgoingPaymentsRoute(dependencies),
    getGrantSpentAmountsRoute(dependencies),
    serveWalletAddressKeysRoute({
      ...dependencies,
      cacheSeconds,
      providerKeys: clientIdentity?.publishedKeys
    }),
    serveWalletAddressRoute({
      ...dependencies,
      providerWalletAddress,
      cacheSeconds,
      pageUrl: config.WALLET_ADDRESS_PAGE_URL
    })
  ]
}

/** Whether the service can work. Wallet addresses, and refusals of everything else, work without the auth server. */
export function createReadiness({ logger }: Context, { database, authServer }: Resources): Readiness {
  const authServerDependency: Dependency = {
    name: 'auth-server',
    needed: 'at-start',
    check: async () => {
      await authServer.whenReady(READINESS_TIMEOUT_MS)
      return undefined
    }
  }
  return new Readiness({
    dependencies: [databaseDependency(database, MIGRATIONS_PATH), authServerDependency],
    logger
  })
}
