import type { RequestListener } from 'node:http'
import { createHttpApp, type RequestObserver, type Route } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { answerOf } from './answers.js'

/** Maximum size of a packet, in bytes: 32,767 of data, an address, and what surrounds them (IL-RFC 27). */
const PACKET_BYTES_MAX = 36_864

/** The app of the peers' listener. */
export function createPeerApp(options: {
  readonly routes: readonly Route[]
  readonly logger: Logger
  readonly requestObserver?: RequestObserver | undefined
}): RequestListener {
  return createHttpApp({
    ...options,
    bodyBytesMax: PACKET_BYTES_MAX,
    unexpectedCode: '500',
    badRequestCode: '400',
    answerOf,
    errorHeaders: (status): Readonly<Record<string, string>> =>
      status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  })
}
