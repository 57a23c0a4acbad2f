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
import { type RequestHandler, Router } from 'express'
import { answerOf, UNAVAILABLE_CODE } from './answers.js'
import { errorPage } from './pages.js'
import { SECURITY_FIELDS } from './security-fields.js'
import { takesOnly } from './takes-only.js'

/** Longest body of a request, in bytes. */
const BODY_BYTES_MAX = 65_536

/** What answers the requests of clients, and of the browsers of account holders. */
export interface PublicRoutes {
  readonly requestGrant: RouteHandler
  readonly discover: RouteHandler
  readonly discoverForResourceServers: RouteHandler
  readonly startInteraction: RequestHandler<{ id: string; nonce: string }>
  readonly finishInteraction: RequestHandler<{ id: string; nonce: string }>
  readonly continueGrant: RouteHandler
  readonly cancelGrant: RouteHandler
  readonly rotateToken: RouteHandler
  readonly revokeToken: RouteHandler
}

/** What stands before the routes. */
export interface PublicFront {
  readonly logger: Logger
  /** Is told of every request; nobody unless given. */
  readonly requestObserver?: RequestObserver | undefined
  /** What every request passes before its body is read. */
  readonly admit: HttpAppOptions['admit']
  /** Proxies that are believed when they tell a client's address. */
  readonly trustedProxies: TrustedProxies | undefined
}

/** The app that faces the internet: what clients ask straight from Node, what browsers are led through behind it. */
export function createPublicApp(routes: PublicRoutes, front: PublicFront): RequestListener {
  const pages = Router({ caseSensitive: true })
  pages.get('/interact/:id/:nonce', routes.startInteraction)
  pages.get('/interact/:id/:nonce/finish', routes.finishInteraction)
  pages.all(['/interact/:id/:nonce', '/interact/:id/:nonce/finish'], takesOnly('GET', 'HEAD'))
  return createHttpApp({
    ...front,
    routes: clientRoutes(routes),
    fallback: pages,
    fields: SECURITY_FIELDS,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: UNAVAILABLE_CODE,
    badRequestCode: 'invalid_request',
    errorPage,
    answerOf
  })
}

function clientRoutes(routes: PublicRoutes): Route[] {
  return [
    { method: 'POST', path: '/', handle: routes.requestGrant },
    { method: 'OPTIONS', path: '/', handle: routes.discover },
    { method: 'GET', path: '/.well-known/gnap-as-rs', handle: routes.discoverForResourceServers },
    { method: 'POST', path: '/continue/:id', handle: routes.continueGrant },
    { method: 'DELETE', path: '/continue/:id', handle: routes.cancelGrant },
    { method: 'POST', path: '/token/:id', handle: routes.rotateToken },
    { method: 'DELETE', path: '/token/:id', handle: routes.revokeToken }
  ]
}
