import { fileURLToPath } from 'node:url'
import { databaseDependency, type Dependency, Readiness } from '@open-payments-server/health'
import type { Router } from 'express'
import { createCompleteIncomingPaymentRoutes } from '../features/complete-incoming-payment/routes.js'
import { createIncomingPaymentRoutes } from '../features/create-incoming-payment/routes.js'
import { createOutgoingPaymentRoutes } from '../features/create-outgoing-payment/routes.js'
import { createQuoteRoutes } from '../features/create-quote/routes.js'
import { createGetGrantSpentAmountsRoutes } from '../features/get-grant-spent-amounts/routes.js'
import { createGetIncomingPaymentRoutes } from '../features/get-incoming-payment/routes.js'
import { createGetOutgoingPaymentRoutes } from '../features/get-outgoing-payment/routes.js'
import { createGetQuoteRoutes } from '../features/get-quote/routes.js'
import {
  createListIncomingPaymentsRoutes,
  createListOutgoingPaymentsRoutes
} from '../features/list-payments/routes.js'
import { createWalletAddressKeysRoutes } from '../features/serve-wallet-address-keys/routes.js'
import { createWalletAddressRoutes } from '../features/serve-wallet-address/routes.js'
import type { PaymentCounters } from '../domain/payment-counters.js'
import type { Context } from './context.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'
import type { Wakers } from './workers.js'

const MIGRATIONS_PATH = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
/** How long readiness waits for the auth server's channel, in milliseconds. */
const READINESS_TIMEOUT_MS = 1_000

/** The routes of every feature, in the order in which they are tried: wallet addresses take any path, so they are last. */
export function createRoutes(
  context: Context,
  resources: Resources,
  ports: DomainPorts,
  wakers: Wakers,
  counters: PaymentCounters
): Router[] {
  const { config } = context
  const deps = {
    ...context,
    ...resources,
    ...ports,
    ...wakers,
    counters,
    authServerUrl: config.AUTH_SERVER_URL
  }
  const incomingLifetimeSeconds = config.INCOMING_PAYMENT_LIFETIME_SECONDS
  const quoteLifetimeSeconds = config.QUOTE_LIFETIME_SECONDS
  const cacheSeconds = config.WALLET_ADDRESS_CACHE_SECONDS
  return [
    createIncomingPaymentRoutes({ ...deps, lifetimeSeconds: incomingLifetimeSeconds }),
    createGetIncomingPaymentRoutes(deps),
    createListIncomingPaymentsRoutes(deps),
    createCompleteIncomingPaymentRoutes(deps),
    createQuoteRoutes({ ...deps, lifetimeSeconds: quoteLifetimeSeconds }),
    createGetQuoteRoutes(deps),
    createOutgoingPaymentRoutes(deps),
    createGetOutgoingPaymentRoutes(deps),
    createListOutgoingPaymentsRoutes(deps),
    createGetGrantSpentAmountsRoutes(deps),
    createWalletAddressKeysRoutes({ ...deps, cacheSeconds }),
    createWalletAddressRoutes({ ...deps, cacheSeconds, pageUrl: config.WALLET_ADDRESS_PAGE_URL })
  ]
}

/** Knows whether the service can do its work. Wallet addresses, and the refusals of all else, go on without the auth server. */
export function createReadiness({ logger }: Context, { pool, authServer }: Resources): Readiness {
  const authServerDependency: Dependency = {
    name: 'auth-server',
    needed: 'at-start',
    check: async () => {
      await authServer.waitForReady(READINESS_TIMEOUT_MS)
      return undefined
    }
  }
  return new Readiness({
    dependencies: [databaseDependency(pool, MIGRATIONS_PATH), authServerDependency],
    logger
  })
}
