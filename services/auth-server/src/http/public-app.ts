import type { RequestListener } from 'node:http'
import {
  createHttpApp,
  type HttpAppOptions,
  type RequestObserver,
  type Route,
  type RouteHandler,
  type TrustedProxies
} from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { answerOf, UNAVAILABLE_CODE } from './answers.js'
import { errorPage } from './pages.js'
import { SECURITY_FIELDS } from './security-fields.js'

/** Maximum size of a request body, in bytes. */
const BODY_BYTES_MAX = 65_536

/** Routes for clients, and for the browsers of account holders. */
export interface PublicRoutes {
  readonly requestGrant: RouteHandler
  readonly discover: RouteHandler
  readonly discoverForResourceServers: RouteHandler
  readonly startInteraction: RouteHandler
  readonly finishInteraction: RouteHandler
  readonly continueGrant: RouteHandler
  readonly cancelGrant: RouteHandler
  readonly rotateToken: RouteHandler
  readonly revokeToken: RouteHandler
}

/** What runs before the routes. */
export interface PublicFront {
  readonly logger: Logger
  /** Observes every request; none unless given. */
  readonly requestObserver?: RequestObserver | undefined
  /** Runs for every request before its body is read. */
  readonly admit: HttpAppOptions['admit']
  /** Proxies that are trusted to state a client's address. */
  readonly trustedProxies: TrustedProxies | undefined
}

/** The app that faces the internet, for clients and for the browsers of account holders. */
export function createPublicApp(routes: PublicRoutes, front: PublicFront): RequestListener {
  return createHttpApp({
    ...front,
    routes: publicRoutes(routes),
    fields: SECURITY_FIELDS,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: UNAVAILABLE_CODE,
    badRequestCode: 'invalid_request',
    errorPage,
    answerOf
  })
}

function publicRoutes(routes: PublicRoutes): Route[] {
  return [
    { method: 'POST', path: '/', handle: routes.requestGrant },
    { method: 'OPTIONS', path: '/', handle: routes.discover },
    { method: 'GET', path: '/.well-known/gnap-as-rs', handle: routes.discoverForResourceServers },
    { method: 'GET', path: '/interact/:id/:nonce', handle: routes.startInteraction },
    { method: 'GET', path: '/interact/:id/:nonce/finish', handle: routes.finishInteraction },
    // Adds at most one token to a grant.
    { method: 'POST', path: '/continue/:id', storesRows: false, handle: routes.continueGrant },
    { method: 'DELETE', path: '/continue/:id', handle: routes.cancelGrant },
    { method: 'POST', path: '/token/:id', handle: routes.rotateToken },
    { method: 'DELETE', path: '/token/:id', handle: routes.revokeToken }
  ]
}
