import type { RateLimits } from '@open-payments-server/service-kit/rate-limits'
import { parseConfiguredInteraction } from '../domain/access.js'
import { createAddresses } from '../domain/urls.js'
import { createClientAuthenticator } from '../features/authenticate-client/client-authenticator.js'
import { createContinuableGrants } from '../features/authorize-holder/find-grants.js'
import { createHolderAuthorizer } from '../features/authorize-holder/holder-authorizer.js'
import { attachAnswers, countClients } from '../features/limit-clients/counted-clients.js'
import { limitFetches } from '../features/limit-clients/limited-fetches.js'
import { countFailures } from '../metrics/authentication-metrics.js'
import { countFetches } from '../metrics/directory-metrics.js'
import { createClientDirectory } from '../modules/clients/index.js'
import { createInteractionReader } from '../modules/interactions/index.js'
import {
  createManagedTokens,
  createRevocationBus,
  createTokenReader,
  TokenHolders
} from '../modules/tokens/index.js'
import type { Context } from './context.js'
import type { ServedMetrics } from './metrics.js'
import type { Resources } from './resources.js'

export type DomainPorts = ReturnType<typeof createDomainPorts>

/** The ports that several features share. */
export function createDomainPorts(
  { config, logger, clock, random }: Context,
  {
    database,
    sharedStore,
    httpClient,
    rateLimits,
    metrics,
    counters
  }: Resources & { readonly rateLimits: RateLimits | undefined } & Pick<ServedMetrics, 'metrics' | 'counters'>
) {
  const fetching = countFetches(httpClient, metrics)
  const directory = createClientDirectory({
    httpClient: rateLimits === undefined ? fetching : limitFetches(fetching, rateLimits),
    clock,
    logger,
    ownOrigins: config.WALLET_ADDRESS_ORIGINS ?? [],
    lifetimeMaxSeconds: config.CLIENT_KEYS_CACHE_SECONDS,
    staleKeysSeconds: config.CLIENT_KEYS_STALE_SECONDS,
    countKeyLookup: counters.countKeyLookup
  })
  const uncounted = createClientAuthenticator({
    directory,
    sharedStore,
    policy: {
      ageMaxSeconds: config.SIGNATURE_AGE_MAX_SECONDS,
      futureMaxSeconds: config.SIGNATURE_FUTURE_MAX_SECONDS,
      tagRequired: config.SIGNATURE_TAG_REQUIRED,
      authorizationRequired: false,
      releasedClientForms: config.SIGNATURE_RELEASED_CLIENT_FORMS
    },
    clock,
    countVerified: rateLimits && countClients(rateLimits)
  })
  const authenticator = attachAnswers(countFailures(uncounted, counters.countAuthenticationFailure))
  const configuredInteraction = parseConfiguredInteraction(config.INTERACTION_REQUIRED_FOR)
  const tokenHolders = new TokenHolders()
  return {
    directory,
    authenticator,
    configuredInteraction,
    revocations: createRevocationBus({ sharedStore, logger }),
    holders: createHolderAuthorizer({
      findGrant: createContinuableGrants({ database }),
      findToken: createManagedTokens({ database }),
      authenticator,
      tokenHolders
    }),
    tokenHolders,
    interactions: createInteractionReader({ database }),
    tokens: createTokenReader({ database }),
    tokenMaker: {
      clock,
      random,
      addresses: createAddresses(config.PUBLIC_URL),
      tokenLifetimeSeconds: config.ACCESS_TOKEN_LIFETIME_SECONDS
    }
  }
}
