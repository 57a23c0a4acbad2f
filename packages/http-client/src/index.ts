export {
  createSafeHttpClient,
  HEADER_BYTES_MAX,
  type JsonResponse,
  REQUESTS_AT_A_TIME_MAX,
  type SafeHttpClient,
  type SafeHttpClientOptions
} from './client.js'
export { OutgoingRequestError, type OutgoingRequestErrorReason } from './errors.js'
export { type Lookup } from './lookup.js'
export { isPublicAddress } from './public-address.js'
export { URL_LENGTH_MAX } from './target.js'
