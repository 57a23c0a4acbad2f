export { createHttpApp, type HttpAppOptions, type RequestObserver } from './app.js'
export type { TrustedProxies } from './client-address.js'
export { type EventMessage, type EventStream, formatMessage } from './event-stream.js'
export { HTTP_ERRORS, type HttpErrorStatus } from './http-errors.js'
export { HttpRequest } from './http-request.js'
export type { Fields } from './fields.js'
export { HttpResponse } from './http-response.js'
export { parseJsonObject, peekJson, validate } from './json.js'
export { CONNECTIONS_MAX, HEADER_BYTES_MAX, TARGET_LENGTH_MAX } from './limits.js'
export { readOptionalBody } from './optional-body.js'
export { readPreference } from './preference.js'
export {
  codeOf,
  type ErrorBody,
  methodNotAllowed,
  NoAnswer,
  PublicError,
  refusalAnswer,
  serviceUnavailable
} from './public-error.js'
export { rawBody } from './read-body.js'
export { type IncomingRequest, type RequestParts, requestParts, targetUri } from './request-parts.js'
export {
  createRenderer,
  namesTag,
  type RenderedResource,
  renderResource,
  sendRendered,
  sendResource,
  tagJson
} from './resource.js'
export type { Route, RouteHandler } from './routes.js'
export { type RunningHttpServer, startHttpServer } from './server.js'
