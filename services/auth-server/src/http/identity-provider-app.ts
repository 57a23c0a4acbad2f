import { createHttpApp } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { type Express, Router } from 'express'
import { healthRoutes } from './health-routes.js'
import { securityHeaders } from './security-headers.js'

/** Longest body of a request, in bytes. */
const BODY_BYTES_MAX = 16_384

/** The app for the identity provider and for whoever runs the service; not for the internet. */
export function createIdentityProviderApp(checkReady: () => Promise<void>, logger: Logger): Express {
  const router = Router({ caseSensitive: true })
  router.use(securityHeaders)
  router.use(healthRoutes(checkReady, logger))
  return createHttpApp({
    logger,
    routes: router,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: 'request_denied',
    badRequestCode: 'invalid_request'
  })
}
