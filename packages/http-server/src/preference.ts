/** A preference of a list, up to the next comma outside of quotes. A quote that is not closed reaches to the end. */
const PREFERENCES = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g
/** A preference without its parameters. */
const WITHOUT_PARAMETERS = /^(?:[^";]|"(?:[^"\\]|\\.)*"?)*/
/** A quoted string (RFC 9110 §5.6.4). */
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/

/**
 * Reads one preference of a client (RFC 7240 §2). Whatever else the header contains is ignored. Of several with one name the
 * first counts.
 *
 * @param prefer value of `Prefer`, several joined by commas; undefined when there is none
 * @param name in lower case; clients may write it in any case
 * @returns its value, empty when it has none; undefined when the client has no such preference
 */
export function readPreference(prefer: string | undefined, name: string): string | undefined {
  for (const [preference] of prefer?.matchAll(PREFERENCES) ?? []) {
    const [text = ''] = WITHOUT_PARAMETERS.exec(preference) ?? []
    const nameEnd = text.indexOf('=')
    const ownName = nameEnd < 0 ? text : text.slice(0, nameEnd)
    if (ownName.trim().toLowerCase() === name)
      return nameEnd < 0 ? '' : unquoted(text.slice(nameEnd + 1).trim())
  }
  return undefined
}

function unquoted(value: string): string {
  return QUOTED.exec(value)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? value
}
