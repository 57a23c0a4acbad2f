import { isUnavailable } from '@open-payments-server/database'
import { createHttpApp } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { type ErrorRequestHandler, type Express, Router } from 'express'
import { temporarilyUnavailable } from '../domain/errors.js'

/** Longest body of a request, in bytes. */
export const BODY_BYTES_MAX = 65_536

/**
 * The app of the public listener.
 *
 * @param options.routes the features' routes, in the order in which they are tried
 * @param options.authServerUrl grant endpoint: told with every 401 (interface 5, rule 7)
 */
export function createPublicApp(options: {
  routes: readonly Router[]
  authServerUrl: string
  logger: Logger
}): Express {
  const routes = Router({ caseSensitive: true })
  for (const featureRoutes of options.routes) routes.use(featureRoutes)
  routes.use(tellUnavailable)
  const challenge = { 'WWW-Authenticate': `GNAP as_uri=${options.authServerUrl}` }
  return createHttpApp({
    logger: options.logger,
    bodyBytesMax: BODY_BYTES_MAX,
    routes,
    unexpectedCode: '500',
    badRequestCode: '400',
    errorHeaders: (status): Readonly<Record<string, string>> => (status === 401 ? challenge : {})
  })
}

/** A database that does not answer is no defect of the service: the client may come again. */
const tellUnavailable: ErrorRequestHandler = (error: unknown, _request, _response, next) => {
  next(isUnavailable(error) ? temporarilyUnavailable(error) : error)
}
