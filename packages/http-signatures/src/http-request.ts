/**
 * What of an HTTP request a signature can cover.
 *
 * `targetUri` is absolute and exactly as the client addressed the request: scheme, authority, path and query, without
 * any normalisation. Header names are lower-case; a list has the values of a repeated header, in order. `body` is
 * the content as received, byte by byte; `undefined` and empty both mean that there is none.
 */
export interface HttpRequestParts {
  readonly method: string
  readonly targetUri: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array | undefined
}

/** The values of a header field, in order; `undefined` when the request does not have it. */
export function headerValues(request: HttpRequestParts, name: string): readonly string[] | undefined {
  // A covered name comes from the client: `constructor` must not find Object.prototype.constructor.
  const value = Object.hasOwn(request.headers, name) ? request.headers[name] : undefined
  return typeof value === 'string' ? [value] : value
}

/** The values of a header field as one, joined with commas (RFC 9110 §5.3); `undefined` when it is absent. */
export function joinedHeader(request: HttpRequestParts, name: string): string | undefined {
  const values = headerValues(request, name)
  return values?.length === 1 ? values[0] : values?.join(', ')
}

/** Whether the request has content. */
export function hasBody(request: HttpRequestParts): request is HttpRequestParts & { body: Uint8Array } {
  return request.body !== undefined && request.body.byteLength > 0
}
