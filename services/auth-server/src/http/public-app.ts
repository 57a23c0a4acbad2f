import type { RequestListener } from 'node:http'
import {
  createHttpApp,
  type HttpAppOptions,
  type RequestObserver,
  type Route,
  type TrustedProxies
} from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { answerOf, BAD_REQUEST_CODE, UNAVAILABLE_CODE } from './answers.js'
import { errorPage } from './pages.js'
import { SECURITY_FIELDS } from './security-fields.js'

/** Maximum size of a request body, in bytes. */
const BODY_BYTES_MAX = 65_536

/**
 * The app of the public listener, for clients and for the browsers of account holders.
 *
 * @param options.requestObserver observes every request
 * @param options.admit runs first for every request
 * @param options.trustedProxies proxies that are trusted to state a client's address
 */
export function createPublicApp(options: {
  routes: readonly Route[]
  logger: Logger
  requestObserver?: RequestObserver | undefined
  admit?: HttpAppOptions['admit']
  trustedProxies?: TrustedProxies | undefined
}): RequestListener {
  return createHttpApp({
    ...options,
    fields: SECURITY_FIELDS,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: UNAVAILABLE_CODE,
    badRequestCode: BAD_REQUEST_CODE,
    errorPage,
    answerOf
  })
}
