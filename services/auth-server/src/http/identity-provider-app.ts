import type { RequestListener } from 'node:http'
import { createHttpApp, methodNotAllowed, type RequestObserver } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { createHealthRoutes, type Readiness } from '@open-payments-server/service-kit/health'
import { type RequestHandler, Router } from 'express'
import { unknownChoice } from '../domain/errors.js'
import { answerOf, UNAVAILABLE_CODE } from './answers.js'
import { requireSecret } from './require-secret.js'
import { SECURITY_FIELDS } from './security-fields.js'

/** Maximum size of a request body, in bytes. */
const BODY_BYTES_MAX = 16_384

/** Routes for the identity provider. */
export interface IdentityProviderRoutes {
  readonly showGrant: RequestHandler<{ id: string; nonce: string }>
  readonly acceptGrant: RequestHandler<{ id: string; nonce: string }>
  readonly rejectGrant: RequestHandler<{ id: string; nonce: string }>
}

/** What the app needs besides its routes. */
export interface IdentityProviderAppOptions {
  readonly logger: Logger
  /** Observes every request; none unless given. */
  readonly requestObserver?: RequestObserver | undefined
  /** Accepted values of `x-idp-secret`. */
  readonly secrets: readonly string[]
  readonly readiness: Readiness
}

/** The app for the identity provider and for operators; not for the internet. */
export function createIdentityProviderApp(
  routes: IdentityProviderRoutes,
  { logger, requestObserver, secrets, readiness }: IdentityProviderAppOptions
): RequestListener {
  const router = Router({ caseSensitive: true })
  router.use('/grant', requireSecret(secrets))
  router.get('/grant/:id/:nonce', routes.showGrant)
  router.post('/grant/:id/:nonce/accept', routes.acceptGrant)
  router.post('/grant/:id/:nonce/reject', routes.rejectGrant)
  router.post('/grant/:id/:nonce/:choice', () => {
    throw unknownChoice()
  })
  router.all('/grant/:id/:nonce', takesOnly('GET', 'HEAD'))
  router.all('/grant/:id/:nonce/:choice', takesOnly('POST'))
  return createHttpApp({
    logger,
    requestObserver,
    routes: createHealthRoutes(readiness),
    fallback: router,
    fields: SECURITY_FIELDS,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: UNAVAILABLE_CODE,
    badRequestCode: 'invalid_request',
    answerOf
  })
}

/** Refuses, with 405, what none of the routes before has taken of a path. Express would answer 404, and OPTIONS in its own form. */
function takesOnly(...methods: readonly string[]): RequestHandler {
  return () => {
    throw methodNotAllowed(methods, 'invalid_request')
  }
}
