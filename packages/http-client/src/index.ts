export { REQUESTS_TO_KNOWN_HOST_MAX, REQUESTS_TO_STRANGER_MAX } from './admission.js'
export {
  createSafeHttpClient,
  HEADER_BYTES_MAX,
  type SafeHttpClient,
  type SafeHttpClientOptions
} from './client.js'
export {
  OutgoingRequestError,
  OUTGOING_REQUEST_ERROR_REASONS,
  type OutgoingRequestErrorReason
} from './errors.js'
export { type Lookup } from './lookup.js'
export { isPublicAddress } from './public-address.js'
export { URL_LENGTH_MAX } from './target.js'
