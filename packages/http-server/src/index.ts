export { createHttpApp, type HttpAppOptions, rawBody, type RequestObserver } from './app.js'
export { type BadRequestCode, invalidField, parseJsonObject, validate } from './json.js'
export { CONNECTIONS_MAX, HEADER_BYTES_MAX, HEADER_COUNT_MAX, TARGET_LENGTH_MAX } from './limits.js'
export { measuredList, measuredText } from './measured.js'
export { readOptionalBody } from './optional-body.js'
export {
  codeOf,
  type ErrorBody,
  errorBody,
  NoAnswer,
  PublicError,
  type PublicErrorOptions,
  serviceUnavailable
} from './public-error.js'
export type { RequestEnd } from './request-span.js'
export { type IncomingRequest, type RequestParts, requestParts, targetUri } from './request-parts.js'
export { type ResourceOptions, sendResource } from './resource.js'
export { seeOther } from './see-other.js'
export { type HttpServerOptions, type RunningHttpServer, startHttpServer } from './server.js'
