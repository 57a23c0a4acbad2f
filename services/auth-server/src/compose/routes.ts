import { fileURLToPath } from 'node:url'
import { databaseDependency, Readiness } from '@open-payments-server/service-kit/health'
import { acceptGrantRoute } from '../features/accept-grant/routes.js'
import { createAcceptGrantService } from '../features/accept-grant/accept-grant.js'
import { createCancelGrantService } from '../features/end-grant/cancel-grant.js'
import { continueGrantRoute } from '../features/continue-grant/routes.js'
import { createContinueGrantService } from '../features/continue-grant/continue-grant.js'
import { discoverForResourceServersRoute, discoverRoute } from '../features/discover/routes.js'
import { finishInteractionRoute } from '../features/finish-interaction/routes.js'
import { createFinishInteractionService } from '../features/finish-interaction/finish-interaction.js'
import { cancelGrantRoute, rejectGrantRoute } from '../features/end-grant/routes.js'
import { createRejectGrantService } from '../features/end-grant/reject-grant.js'
import { createBeginGrant } from '../features/request-grant/begin-grants.js'
import { requestGrantRoute } from '../features/request-grant/routes.js'
import {
  createRequestGrantService,
  type RequestGrantService
} from '../features/request-grant/request-grant.js'
import { revokeTokenRoute } from '../features/revoke-token/routes.js'
import { createRevokeTokenService } from '../features/revoke-token/revoke-token.js'
import { rotateTokenRoute } from '../features/rotate-token/routes.js'
import { createRotateTokenService } from '../features/rotate-token/rotate-token.js'
import { showGrantRoute } from '../features/show-grant/routes.js'
import { startInteractionRoute } from '../features/start-interaction/routes.js'
import { createStartInteractionService } from '../features/start-interaction/start-interaction.js'
import { createRotateToken } from '../modules/tokens/index.js'
import type { IdentityProviderRoutes } from '../http/identity-provider-app.js'
import { createInteractionCookie } from '../http/interaction-cookie.js'
import { DONE_PAGE } from '../http/pages.js'
import type { PublicRoutes } from '../http/public-app.js'
import { countUnresolved } from '../metrics/authentication-metrics.js'
import { countGrants, countInteractions } from '../metrics/grant-metrics.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'

const MIGRATIONS_PATH = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

/** The dependencies of the routes. */
export interface RouteParts {
  readonly context: Context
  readonly resources: Resources
  readonly domain: DomainPorts
  readonly counters: Counters
}

/** Whether requests can be served. */
export function createReadiness({ logger }: Context, { database }: Resources): Readiness {
  return new Readiness({ dependencies: [databaseDependency(database, MIGRATIONS_PATH)], logger })
}

/** Routes for clients, and for the browsers of account holders. */
export function createRoutes(parts: RouteParts): PublicRoutes {
  const { context, resources, domain, counters } = parts
  const { config, clock, random, logger } = context
  const { database } = resources
  const { revocations, authenticator, holders, tokenHolders, interactions, tokenMaker } = domain
  const { PUBLIC_URL: publicUrl } = config
  const { addresses } = tokenMaker
  const counted = countGrants(counters)
  const interactive = countInteractions(counters)
  // The browser may finish as long as the client may continue.
  const interactionCookie = createInteractionCookie(
    addresses,
    config.INTERACTION_LIFETIME_SECONDS + config.INTERACTION_REFERENCE_LIFETIME_SECONDS
  )
  const startInteraction = createStartInteractionService({
    interactions,
    database,
    clock,
    random,
    consentPageUrl: config.CONSENT_PAGE_URL
  })
  const finishInteraction = createFinishInteractionService({
    interactions,
    clock,
    grantEndpoint: addresses.grantEndpoint
  })
  const continueGrant = createContinueGrantService({
    ...tokenMaker,
    tokenHolders,
    database,
    continuationWaitSeconds: config.CONTINUATION_WAIT_SECONDS
  })
  const cancelGrant = createCancelGrantService({ database, clock, revocations })
  const rotateToken = createRotateTokenService({
    ...tokenMaker,
    revocations,
    logger,
    tokenHolders,
    rotate: createRotateToken(database)
  })
  const revokeToken = createRevokeTokenService({ database, clock, revocations, tokenHolders })
  return {
    requestGrant: requestGrantRoute(createRequestGrant(parts), authenticator, publicUrl),
    discover: discoverRoute(addresses.grantEndpoint),
    discoverForResourceServers: discoverForResourceServersRoute(addresses.grantEndpoint),
    startInteraction: startInteractionRoute(
      interactive.startInteraction(startInteraction),
      interactionCookie
    ),
    finishInteraction: finishInteractionRoute(
      interactive.finishInteraction(finishInteraction),
      interactionCookie,
      DONE_PAGE
    ),
    continueGrant: continueGrantRoute(counted.continueGrant(continueGrant), holders, publicUrl),
    cancelGrant: cancelGrantRoute(counted.cancelGrant(cancelGrant), holders, publicUrl),
    rotateToken: rotateTokenRoute(counted.rotateToken(rotateToken), holders, publicUrl),
    revokeToken: revokeTokenRoute(counted.revokeToken(revokeToken), holders, publicUrl)
  }
}

function createRequestGrant({ context, resources, domain, counters }: RouteParts): RequestGrantService {
  const { config } = context
  const { directory, authenticator, tokenHolders, tokenMaker, configuredInteraction } = domain
  const requestGrant = createRequestGrantService({
    ...tokenMaker,
    authenticator,
    directory,
    tokenHolders,
    beginGrant: createBeginGrant(resources.database),
    configuredInteraction,
    ownOrigins: config.WALLET_ADDRESS_ORIGINS ?? [],
    allowHttp: config.ENVIRONMENT === 'development',
    interactionLifetimeSeconds: config.INTERACTION_LIFETIME_SECONDS,
    continuationWaitSeconds: config.CONTINUATION_WAIT_SECONDS
  })
  return countUnresolved(
    countGrants(counters).requestGrant(requestGrant),
    counters.countAuthenticationFailure
  )
}

/** Routes for identity providers. */
export function createIdentityProviderRoutes({
  context,
  resources,
  domain,
  counters
}: RouteParts): IdentityProviderRoutes {
  const { config, clock, random } = context
  const { database } = resources
  const { interactions } = domain
  const interactive = countInteractions(counters)
  const acceptGrant = createAcceptGrantService({
    interactions,
    clock,
    random,
    database,
    referenceLifetimeSeconds: config.INTERACTION_REFERENCE_LIFETIME_SECONDS,
    finishCodeRequired: config.INTERACTION_FINISH_CODE_REQUIRED
  })
  const rejectGrant = createRejectGrantService({ interactions, clock, database })
  return {
    showGrant: showGrantRoute(interactions),
    acceptGrant: acceptGrantRoute(interactive.acceptGrant(acceptGrant)),
    rejectGrant: rejectGrantRoute(interactive.rejectGrant(rejectGrant))
  }
}
