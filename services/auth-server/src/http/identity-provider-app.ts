import type { RequestListener } from 'node:http'
import { createHttpApp, methodNotAllowed, type RequestObserver } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { createHealthRoutes, type Readiness } from '@open-payments-server/service-kit/health'
import { type RequestHandler, Router } from 'express'
import { unknownChoice } from '../domain/errors.js'
import type { IdentityProviderRoute } from '../features/identity-provider-route.js'
import { answerOf, BAD_REQUEST_CODE, UNAVAILABLE_CODE } from './answers.js'
import { requireSecret } from './require-secret.js'
import { SECURITY_FIELDS } from './security-fields.js'

/** Maximum size of a request body, in bytes: an acceptance with its proof is the largest. */
const BODY_BYTES_MAX = 65_536

/**
 * The app for the identity provider and for operators; not for the internet.
 *
 * @param options.routes routes for the identity provider
 * @param options.requestObserver observes every request
 * @param options.secrets accepted values of `x-idp-secret`
 */
export function createIdentityProviderApp(options: {
  routes: readonly IdentityProviderRoute[]
  logger: Logger
  requestObserver?: RequestObserver | undefined
  secrets: readonly string[]
  readiness: Readiness
}): RequestListener {
  const router = Router({ caseSensitive: true })
  router.use('/grant', requireSecret(options.secrets))
  for (const { method, path, handle } of options.routes)
    router[method === 'GET' ? 'get' : 'post'](path, handle)
  router.post('/grant/:id/:nonce/:choice', () => {
    throw unknownChoice()
  })
  router.all('/grant/:id/:nonce', takesOnly('GET', 'HEAD'))
  router.all('/grant/:id/:nonce/:choice', takesOnly('POST'))
  return createHttpApp({
    logger: options.logger,
    requestObserver: options.requestObserver,
    routes: createHealthRoutes(options.readiness),
    fallback: router,
    fields: SECURITY_FIELDS,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: UNAVAILABLE_CODE,
    badRequestCode: BAD_REQUEST_CODE,
    answerOf
  })
}

/** Refuses, with 405, what none of the routes before has taken of a path. Express would answer 404, and OPTIONS in its own form. */
function takesOnly(...methods: readonly string[]): RequestHandler {
  return () => {
    throw methodNotAllowed(methods, 'invalid_request')
  }
}
