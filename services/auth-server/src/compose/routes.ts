import { parseConfiguredInteraction } from '../domain/access.js'
import { createInteractionCookie } from '../domain/interaction-cookie.js'
import { acceptGrantRoute } from '../features/accept-grant/route.js'
import { createAcceptGrantService } from '../features/accept-grant/service.js'
import { cancelGrantRoute } from '../features/end-grant/cancel-route.js'
import { createCancelGrantService } from '../features/end-grant/cancel-grant.js'
import { continueGrantRoute } from '../features/continue-grant/route.js'
import { createContinueGrantService } from '../features/continue-grant/service.js'
import { discoverForResourceServersRoute, discoverRoute } from '../features/discover/route.js'
import { finishInteractionRoute } from '../features/finish-interaction/route.js'
import { createFinishInteractionService } from '../features/finish-interaction/service.js'
import { rejectGrantRoute } from '../features/end-grant/reject-route.js'
import { createRejectGrantService } from '../features/end-grant/reject-grant.js'
import { createBeginGrant } from '../features/request-grant/begin-grants.js'
import { requestGrantRoute } from '../features/request-grant/route.js'
import { createRequestGrantService, type RequestGrantService } from '../features/request-grant/service.js'
import { revokeTokenRoute } from '../features/revoke-token/route.js'
import { createRevokeTokenService } from '../features/revoke-token/service.js'
import { rotateTokenRoute } from '../features/rotate-token/route.js'
import { createRotateTokenService } from '../features/rotate-token/service.js'
import { showGrantRoute } from '../features/show-grant/route.js'
import { startInteractionRoute } from '../features/start-interaction/route.js'
import { createStartInteractionService } from '../features/start-interaction/service.js'
import { createRotateToken } from '../modules/tokens/index.js'
import { createIdentityProviderApp, type IdentityProviderRoutes } from '../http/identity-provider-app.js'
import { DONE_PAGE } from '../http/pages.js'
import { type PublicRoutes } from '../http/public-app.js'
import { countUnresolved } from '../metrics/authentication-metrics.js'
import { countGrants, countInteractions } from '../metrics/grant-metrics.js'
import type { Foundations } from './foundations.js'

/** The routes of the public listener. */
export function composePublicRoutes(foundations: Foundations): PublicRoutes {
  const {
    config,
    prisma: database,
    revocations,
    authenticator,
    holders,
    heldTokens,
    interactions,
    tokens,
    logger
  } = foundations
  const { PUBLIC_URL: publicUrl } = config
  const counted = countGrants(foundations.counters)
  const interactive = countInteractions(foundations.counters)
  const { clock, random, addresses } = tokens
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
    ...tokens,
    heldTokens,
    database,
    continuationWaitSeconds: config.CONTINUATION_WAIT_SECONDS
  })
  const cancelGrant = createCancelGrantService({
    database,
    clock,
    revocations
  })
  const rotateToken = createRotateTokenService({
    ...tokens,
    revocations,
    logger,
    heldTokens,
    rotate: createRotateToken(database)
  })
  const revokeToken = createRevokeTokenService({
    database,
    clock,
    revocations,
    heldTokens
  })
  return {
    requestGrant: requestGrantRoute(composeRequestGrant(foundations), authenticator, publicUrl),
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

function composeRequestGrant(foundations: Foundations): RequestGrantService {
  const { config, prisma, directory, authenticator, heldTokens, tokens, counters } = foundations
  const requestGrant = createRequestGrantService({
    ...tokens,
    authenticator,
    directory,
    heldTokens,
    beginGrant: createBeginGrant(prisma),
    configuredInteraction: parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR),
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

/** What the listener for identity providers serves. */
export function composeIdentityProviderApp(
  foundations: Foundations
): ReturnType<typeof createIdentityProviderApp> {
  const { config, prisma: database, readiness, interactions, tokens, logger } = foundations
  const { clock, random } = tokens
  const interactive = countInteractions(foundations.counters)
  const routes: IdentityProviderRoutes = {
    showGrant: showGrantRoute(interactions),
    acceptGrant: acceptGrantRoute(
      interactive.acceptGrant(
        createAcceptGrantService({
          interactions,
          clock,
          random,
          database,
          referenceLifetimeSeconds: config.INTERACTION_REFERENCE_LIFETIME_SECONDS,
          finishCodeRequired: config.INTERACTION_FINISH_CODE_REQUIRED
        })
      )
    ),
    rejectGrant: rejectGrantRoute(
      interactive.rejectGrant(createRejectGrantService({ interactions, clock, database }))
    )
  }
  return createIdentityProviderApp(routes, {
    logger,
    requestObserver: foundations.transports?.http['identity-provider'],
    secrets: [config.IDENTITY_PROVIDER_SECRET, config.IDENTITY_PROVIDER_SECRET_PREVIOUS].flatMap((secret) =>
      secret === undefined ? [] : [secret.reveal()]
    ),
    readiness
  })
}
