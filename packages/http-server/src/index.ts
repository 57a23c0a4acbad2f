export { createHttpApp, type HttpAppOptions, rawBody } from './app.js'
export { type BadRequestCode, invalidField, parseJsonObject, validate } from './json.js'
export { type ErrorBody, errorBody, PublicError, type PublicErrorOptions } from './public-error.js'
export { type HttpServerOptions, type RunningHttpServer, startHttpServer } from './server.js'
