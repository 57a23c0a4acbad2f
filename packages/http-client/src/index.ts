export { REQUESTS_TO_KNOWN_HOST_MAX, REQUESTS_TO_STRANGER_MAX } from './admission.js'
export {
  createSafeHttpClient,
  HEADER_BYTES_MAX,
  type JsonRequestOptions,
  type JsonResponse,
  type SafeHttpClient,
  type SafeHttpClientOptions
} from './client.js'
export { createEndpointClient, type EndpointClientOptions, endpointProblem } from './endpoint-client.js'
export {
  OutgoingRequestError,
  OUTGOING_REQUEST_ERROR_REASONS,
  type OutgoingRequestErrorReason
} from './errors.js'
export { type Lookup, systemLookup } from './lookup.js'
export { LOOPBACK_NETWORKS, type Network, parseNetworks } from './networks.js'
export {
  createPostClient,
  type ExchangeResponse,
  type PostClient,
  type PostClientOptions,
  type PostResponse
} from './post-client.js'
export { isPublicAddress } from './public-address.js'
export { parseHttpUrl, URL_LENGTH_MAX } from './target.js'
