import type { RequestListener } from 'node:http'
import {
  createHttpApp,
  type HttpAppOptions,
  type RequestObserver,
  type Route,
  type TrustedProxies
} from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { answerOf } from './answers.js'

/** Maximum size of a request body, in bytes. */
export const BODY_BYTES_MAX = 65_536

/**
 * The app of the public listener.
 *
 * @param options.authServerUrl grant endpoint: included in every 401 (interface 5, rule 7)
 * @param options.requestObserver observes every request
 * @param options.admit runs first for every request
 * @param options.trustedProxies proxies that are trusted to state a client's address
 */
export function createPublicApp(options: {
  routes: readonly Route[]
  authServerUrl: string
  logger: Logger
  requestObserver?: RequestObserver | undefined
  admit?: HttpAppOptions['admit']
  trustedProxies?: TrustedProxies | undefined
}): RequestListener {
  const challenge = { 'WWW-Authenticate': `GNAP as_uri=${options.authServerUrl}` }
  return createHttpApp({
    ...options,
    bodyBytesMax: BODY_BYTES_MAX,
    unexpectedCode: '500',
    badRequestCode: '400',
    answerOf,
    errorHeaders: (status): Readonly<Record<string, string>> => (status === 401 ? challenge : {})
  })
}
