import { createHttpApp } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { type Express, type RequestHandler, Router } from 'express'
import { securityHeaders } from './security-headers.js'

/** Longest body of a request, in bytes. */
const BODY_BYTES_MAX = 65_536

/** What answers the requests of clients, and of the browsers of account holders. */
export interface PublicRoutes {
  readonly requestGrant: RequestHandler
}

/** The app that faces the internet. */
export function createPublicApp(routes: PublicRoutes, logger: Logger): Express {
  const router = Router({ caseSensitive: true })
  router.use(securityHeaders)
  router.post('/', routes.requestGrant)
  return createHttpApp({
    logger,
    routes: router,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: 'request_denied',
    badRequestCode: 'invalid_request'
  })
}
