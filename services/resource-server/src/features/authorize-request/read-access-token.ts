/** Maximum length of an access token that is looked up, in characters. */
const ACCESS_TOKEN_LENGTH_MAX = 512

/** `GNAP` and a token68 (RFC 9110 §11.4); schemes are matched without regard to case. */
const GNAP_CREDENTIALS = /^GNAP ([A-Za-z0-9\-._~+/]+=*)$/i

/**
 * Reads the access token of a request (RFC 9635 §7.2).
 *
 * @param authorization values of `Authorization`; undefined when there is none
 * @returns undefined when there is no token, several, or the value is not a token
 */
export function readAccessToken(authorization: readonly string[] | undefined): string | undefined {
  const [value = '', ...others] = authorization ?? []
  const token = others.length === 0 ? GNAP_CREDENTIALS.exec(value.trim())?.[1] : undefined
  return token !== undefined && token.length <= ACCESS_TOKEN_LENGTH_MAX ? token : undefined
}
