import { fileURLToPath } from 'node:url'
import type { Route } from '@open-payments-server/http-server'
import { databaseDependency, Readiness } from '@open-payments-server/service-kit/health'
import { acceptGrantRoute } from '../features/accept-grant/routes.js'
import { continueGrantRoute } from '../features/continue-grant/routes.js'
import { discoverForResourceServersRoute, discoverRoute } from '../features/discover/routes.js'
import { cancelGrantRoute, rejectGrantRoute } from '../features/end-grant/routes.js'
import { finishInteractionRoute } from '../features/finish-interaction/routes.js'
import type { IdentityProviderRoute } from '../features/identity-provider-route.js'
import { requestGrantRoute } from '../features/request-grant/routes.js'
import { revokeTokenRoute } from '../features/revoke-token/routes.js'
import { rotateTokenRoute } from '../features/rotate-token/routes.js'
import { showGrantRoute } from '../features/show-grant/routes.js'
import { startInteractionRoute } from '../features/start-interaction/routes.js'
import { createInteractionCookie } from '../http/interaction-cookie.js'
import { DONE_ANSWERS } from '../http/pages.js'
import type { ConsentProofs } from './consent-proofs.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'
import type { Wakers } from './workers.js'

const MIGRATIONS_PATH = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

/** What the routes are made of. */
export interface RouteParts {
  readonly context: Context
  readonly resources: Resources
  readonly domain: DomainPorts
  readonly wakers: Wakers
  readonly counters: Counters
  readonly consentProofs: ConsentProofs
}

/** The routes of every feature for clients, and for the browsers of account holders. */
export function createRoutes({ context, resources, domain, counters }: RouteParts): Route[] {
  const { config } = context
  const { addresses } = domain.tokenMaker
  const dependencies = {
    ...context,
    ...resources,
    ...domain,
    ...domain.tokenMaker,
    counters,
    publicUrl: config.PUBLIC_URL,
    grantEndpoint: addresses.grantEndpoint,
    consentPageUrl: config.CONSENT_PAGE_URL,
    doneAnswers: DONE_ANSWERS,
    // The browser may finish as long as the client may continue.
    interactionCookie: createInteractionCookie(
      addresses,
      config.INTERACTION_LIFETIME_SECONDS + config.INTERACTION_REFERENCE_LIFETIME_SECONDS
    ),
    interactionLifetimeSeconds: config.INTERACTION_LIFETIME_SECONDS,
    continuationWaitSeconds: config.CONTINUATION_WAIT_SECONDS,
    ownOrigins: config.WALLET_ADDRESS_ORIGINS ?? [],
    allowHttp: config.ENVIRONMENT === 'development'
  }
  return [
    requestGrantRoute(dependencies),
    discoverRoute(dependencies),
    discoverForResourceServersRoute(dependencies),
    startInteractionRoute(dependencies),
    finishInteractionRoute(dependencies),
    continueGrantRoute(dependencies),
    cancelGrantRoute(dependencies),
    rotateTokenRoute(dependencies),
    revokeTokenRoute(dependencies)
  ]
}

/** The routes of every feature for identity providers. */
export function createIdentityProviderRoutes({
  context,
  resources,
  domain,
  counters,
  consentProofs
}: RouteParts): IdentityProviderRoute[] {
  const { config } = context
  const dependencies = {
    ...context,
    ...resources,
    ...domain,
    ...consentProofs,
    counters,
    grantEndpoint: domain.tokenMaker.addresses.grantEndpoint,
    referenceLifetimeSeconds: config.INTERACTION_REFERENCE_LIFETIME_SECONDS,
    finishCodeRequired: config.INTERACTION_FINISH_CODE_REQUIRED
  }
  return [showGrantRoute(dependencies), acceptGrantRoute(dependencies), rejectGrantRoute(dependencies)]
}

/** Whether requests can be served. */
export function createReadiness({ logger }: Context, { database }: Resources): Readiness {
  return new Readiness({ dependencies: [databaseDependency(database, MIGRATIONS_PATH)], logger })
}
