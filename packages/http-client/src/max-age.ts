/** Maximum age that is understood, in seconds (RFC 9111 §1.2.2). */
const AGE_MAX_SECONDS = 2 ** 31

/**
 * How much longer an answer may be cached, by its headers (RFC 9111 §4.2): `max-age` less its `age`; 0 when it must not be
 * cached, or contradicts itself.
 *
 * @param headers names in lower case
 * @returns seconds, or `undefined` when the answer does not say
 */
export function maxAgeSeconds(headers: Readonly<Record<string, string>>): number | undefined {
  const directives = (headers['cache-control'] ?? '')
    .split(',')
    .map((directive) => directive.trim().toLowerCase())
  if (directives.some((directive) => /^(?:no-store|no-cache)(?:$|\s*=)/.test(directive))) return 0
  const [maxAge, ...others] = directives.filter((directive) => /^max-age\s*(?:$|=)/.test(directive))
  if (maxAge === undefined) return undefined
  const seconds = /^max-age="?(\d{1,19})"?$/.exec(maxAge)?.[1]
  if (seconds === undefined || others.length > 0) return 0
  const age = /^\d{1,19}$/.test(headers['age'] ?? '') ? Number(headers['age']) : 0
  return Math.max(0, Math.min(Number(seconds), AGE_MAX_SECONDS) - age)
}
