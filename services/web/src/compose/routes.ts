import type { Route } from '@open-payments-server/http-server'
import type { ConfigWith } from '../config.js'
import { finishResumption } from '../features/allowed/resume.js'
import { allowedRoutes } from '../features/allowed/routes.js'
import { finishConsent } from '../features/consent/finish.js'
import { consentRoutes } from '../features/consent/routes.js'
import { signInRoutes } from '../features/sign-in/routes.js'
import type { Site } from '../features/site.js'
import { assetRoutes } from '../http/assets.js'
import { createInteractions } from '../modules/auth-server/index.js'
import { styleOf } from '../pages/style.js'
import type { Context } from './context.js'
import type { Resources } from './resources.js'

/** The pages of account holders. */
export function createHolderRoutes(
  { logger }: Context,
  config: ConfigWith<'pages'>,
  { http, resourceServer, authServer, logo }: Resources,
  site: Site
): Route[] {
  const consent = {
    site,
    interactions: createInteractions({
      apiUrl: config.AUTH_API_URL,
      secret: config.IDENTITY_PROVIDER_SECRET.reveal(),
      logger,
      ...http
    }),
    holders: resourceServer,
    receivers: resourceServer
  }
  const allowed = {
    ...{ site, grants: authServer },
    ...{ wallets: resourceServer, holders: resourceServer, receivers: resourceServer }
  }
  return [
    ...assetRoutes(styleOf(site.brand), logo),
    ...allowedRoutes(allowed),
    ...signInRoutes({
      site,
      finish: {
        consent: (request, response, confirmed) => finishConsent(consent, request, response, confirmed),
        resumption: (request, response, confirmed) => finishResumption(allowed, request, response, confirmed)
      },
      logger
    }),
    ...consentRoutes(consent)
  ]
}
