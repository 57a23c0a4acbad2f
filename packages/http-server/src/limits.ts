// A listener's limits for one connection and one request, whatever is served. docs/limits.md lists them all.

/** Maximum size of a request's header section, including the request line, in bytes. */
export const HEADER_BYTES_MAX = 16_384

/** Maximum number of header fields of a request. */
export const HEADER_COUNT_MAX = 100

/** Maximum length of a request target, in characters: path and query as sent. */
export const TARGET_LENGTH_MAX = 8_192

/** Maximum number of requests per connection. The last answer closes the connection. */
export const REQUESTS_PER_CONNECTION_MAX = 10_000

/** Default maximum number of concurrent connections of a listener. More are closed at once. */
export const CONNECTIONS_MAX = 10_000

/** Maximum time for a client to send its headers, in milliseconds. */
export const HEADERS_TIMEOUT_MS = 10_000

/** Maximum time for a client to send a whole request, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000

/** How long the rest of a body is read and discarded after its request was answered, in milliseconds. */
export const DISCARD_TIMEOUT_MS = 5_000

/** How often connections are checked for clients that are too slow, in milliseconds. */
export const TIMEOUT_CHECK_INTERVAL_MS = 1_000

/** Maximum time that a client may read nothing of its answer, in milliseconds. */
export const ANSWER_STALL_TIMEOUT_MS = 30_000

/** How long an idle connection is kept, in milliseconds. Longer than that of a load balancer in front. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000
