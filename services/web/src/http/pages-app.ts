import type { RequestListener } from 'node:http'
import {
  createHttpApp,
  PublicError,
  type RequestObserver,
  type Route,
  serviceUnavailable,
  type TrustedProxies
} from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { ServiceAway } from '../domain/grant.js'
import { NoSuchPage } from '../domain/paged.js'
import { frameOf, type Site, speechFor } from '../features/site.js'
import { noticePage } from '../pages/notice.js'
import type { Notice } from '../words/messages.js'
import { securityFields } from './security-fields.js'

/** Maximum size of a form, in bytes. */
const BODY_BYTES_MAX = 16_384
/** Error codes of answers to programs; people get pages. */
const [UNAVAILABLE_CODE, BAD_REQUEST_CODE] = ['unavailable', 'invalid_request'] as const

/**
 * The app of a listener for people.
 *
 * @param options.requestObserver observes every request
 * @param options.trustedProxies proxies that are trusted to state a client's address
 * @param options.allowHttp in development
 */
export function createPagesApp(options: {
  site: Site
  routes: readonly Route[]
  logger: Logger
  requestObserver?: RequestObserver | undefined
  trustedProxies?: TrustedProxies | undefined
  allowHttp: boolean
}): RequestListener {
  const { site, allowHttp } = options
  return createHttpApp({
    logger: options.logger,
    requestObserver: options.requestObserver,
    trustedProxies: options.trustedProxies,
    routes: options.routes,
    fields: securityFields(allowHttp),
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: UNAVAILABLE_CODE,
    badRequestCode: BAD_REQUEST_CODE,
    answerOf(error) {
      const answer = answerOf(error)
      if (answer !== undefined) options.logger.warn({ err: error }, 'a page could not be made now')
      return answer
    },
    errorPage(request, status) {
      if (request.accepts(['json', 'html']) !== 'html') return undefined
      return noticePage(frameOf(site, speechFor(site, request)), noticeOf(request.method, status))
    }
  })
}

function noticeOf(method: string, status: number): Notice {
  // What was sent may have had its effect before something failed.
  if (method === 'POST' && status >= 500) return 'unsure'
  if (status === 503) return 'unavailable'
  if (status >= 500) return 'failed'
  return status === 404 ? 'not-found' : 'incomplete'
}

/** A service that is away passes by itself. While it cannot be told who signed out, nobody counts as signed in. */
function answerOf(error: unknown): PublicError | undefined {
  if (error instanceof NoSuchPage)
    return new PublicError({ status: 404, code: BAD_REQUEST_CODE, description: 'not found', cause: error })
  return error instanceof ServiceAway || error instanceof SharedStoreUnavailable
    ? serviceUnavailable(UNAVAILABLE_CODE, error)
    : undefined
}
