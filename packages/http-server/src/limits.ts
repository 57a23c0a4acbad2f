// What a listener takes of one connection and one request, whatever is served there. docs/limits.md lists all of it.

/** Longest header section of a request, its first line included, in bytes. */
export const HEADER_BYTES_MAX = 16_384

/** Most header fields of a request. */
export const HEADER_COUNT_MAX = 100

/** Longest request target, in characters: path and query as sent. */
export const TARGET_LENGTH_MAX = 8_192

/** Most requests of one connection. The last one's answer says that the connection ends. */
export const REQUESTS_PER_CONNECTION_MAX = 10_000

/** Most connections of one listener at a time, unless it is told another number. More are closed at once. */
export const CONNECTIONS_MAX = 10_000

/** Most that a client may take to send its headers, in milliseconds. */
export const HEADERS_TIMEOUT_MS = 10_000

/** Most that a client may take to send a whole request, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000

/** How long the rest of a body is read and discarded after its request was answered, in milliseconds. */
export const DISCARD_TIMEOUT_MS = 5_000

/** How often connections are looked through for clients that are too slow, in milliseconds. */
export const TIMEOUT_CHECK_INTERVAL_MS = 1_000

/** Longest that a client may read nothing of its answer, in milliseconds. */
export const ANSWER_STALL_TIMEOUT_MS = 30_000

/** How long an idle connection is kept, in milliseconds. Longer than that of a load balancer in front. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000
