import type { ConfigWith } from '../config.js'
import type { Site } from '../features/site.js'
import { CookieJar, createSealer } from '../modules/cookies/index.js'
import { createIssuer, createIssuerFetch } from '../modules/issuer/index.js'
import { createHeldTokens, createSessions } from '../modules/sessions/index.js'
import type { Context } from './context.js'
import type { Resources } from './resources.js'

/** The pages of account holders. */
export function createHolderSite(context: Context, config: ConfigWith<'pages'>, resources: Resources): Site {
  return createSite(context, resources, {
    listener: 'holder',
    origins: config.PUBLIC_URL,
    issuer: config.ISSUER,
    clientId: config.CLIENT_ID,
    clientSecret: config.CLIENT_SECRET?.reveal(),
    rolesClaim: undefined,
    holderClaim: config.HOLDER_CLAIM
  })
}

/** The console. */
export function createConsoleSite(
  context: Context,
  config: ConfigWith<'console'>,
  resources: Resources
): Site {
  return createSite(context, resources, {
    listener: 'console',
    origins: config.CONSOLE_URL,
    issuer: config.CONSOLE_ISSUER ?? config.ISSUER,
    clientId: config.CONSOLE_CLIENT_ID,
    clientSecret: config.CONSOLE_CLIENT_SECRET?.reveal(),
    rolesClaim: config.CONSOLE_ROLES_CLAIM,
    holderClaim: undefined
  })
}

function createSite(
  { config, clock, random }: Context,
  { sharedStore, http, logo }: Resources,
  of: {
    listener: string
    origins: readonly string[]
    issuer: string
    clientId: string
    clientSecret: string | undefined
    rolesClaim: string | undefined
    holderClaim: string | undefined
  }
): Site {
  const { listener, rolesClaim, holderClaim, issuer, clientId, clientSecret } = of
  const [origin = ''] = of.origins
  const jar = new CookieJar({ listener, isSecure: origin.startsWith('https:') })
  const sealer = createSealer(
    [config.SESSION_KEY.reveal(), ...(config.SESSION_KEYS_OTHER?.reveal() ?? [])],
    clock
  )
  return {
    listener,
    origin,
    brand: {
      name: config.PROVIDER_NAME,
      color: config.BRAND_COLOR,
      colorDark: config.BRAND_COLOR_DARK,
      hasLogo: logo !== undefined
    },
    timeZone: config.TIME_ZONE,
    jar,
    sealer,
    sessions: createSessions({
      sealer,
      jar,
      sharedStore,
      clock,
      random,
      listener,
      lifetimeSeconds: config.SESSION_LIFETIME_SECONDS
    }),
    issuer: createIssuer({
      issuer,
      clientId,
      clientSecret,
      scope: config.SCOPE,
      origin,
      detailsType: config.CONSENT_DETAILS_TYPE,
      allowHttp: config.ENVIRONMENT === 'development',
      fetch: createIssuerFetch(http),
      clock
    }),
    tokens: createHeldTokens({
      sealer,
      jar,
      clock,
      listener,
      lifetimeSeconds: config.SESSION_LIFETIME_SECONDS,
      areActedBy: listener === 'console'
    }),
    rolesClaim,
    holderClaim,
    clock,
    random
  }
}
