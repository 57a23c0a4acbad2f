import { isTransient } from '@open-payments-server/database'
import { createHttpApp, type RequestObserver } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { type Express, type RequestHandler, Router } from 'express'
import { errorPage } from './pages.js'
import { securityHeaders } from './security-headers.js'

/** Longest body of a request, in bytes. */
const BODY_BYTES_MAX = 65_536

/** What answers the requests of clients, and of the browsers of account holders. */
export interface PublicRoutes {
  readonly requestGrant: RequestHandler
  readonly discover: RequestHandler
  readonly discoverForResourceServers: RequestHandler
  readonly startInteraction: RequestHandler<{ id: string; nonce: string }>
  readonly finishInteraction: RequestHandler<{ id: string; nonce: string }>
  readonly continueGrant: RequestHandler<{ id: string }>
  readonly cancelGrant: RequestHandler<{ id: string }>
  readonly rotateToken: RequestHandler<{ id: string }>
  readonly revokeToken: RequestHandler<{ id: string }>
}

/** Whether an error is that of something the service needs, which may be back in a moment. */
function passesByItself(error: unknown): boolean {
  return isTransient(error) || error instanceof SharedStoreUnavailable
}

/** What stands before the routes. */
export interface PublicFront {
  readonly logger: Logger
  /** Is told of every request; nobody unless given. */
  readonly requestObserver?: RequestObserver | undefined
  /** What every request passes before its body is read. */
  readonly beforeBody: RequestHandler | undefined
  /** Proxies that are believed when they tell a client's address. */
  readonly trustedProxies: number | string[] | undefined
}

/** The app that faces the internet. */
export function createPublicApp(routes: PublicRoutes, front: PublicFront): Express {
  const router = Router({ caseSensitive: true })
  router.use(securityHeaders)
  router.post('/', routes.requestGrant)
  router.options('/', routes.discover)
  router.get('/.well-known/gnap-as-rs', routes.discoverForResourceServers)
  router.get('/interact/:id/:nonce', routes.startInteraction)
  router.get('/interact/:id/:nonce/finish', routes.finishInteraction)
  router.post('/continue/:id', routes.continueGrant)
  router.delete('/continue/:id', routes.cancelGrant)
  router.post('/token/:id', routes.rotateToken)
  router.delete('/token/:id', routes.revokeToken)
  return createHttpApp({
    ...front,
    routes: router,
    optionsPaths: ['/'],
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: 'request_denied',
    badRequestCode: 'invalid_request',
    errorPage,
    unavailable: { code: 'request_denied', when: passesByItself }
  })
}
