/** Issuers by their `iss`, each with its clients: the audiences of ID tokens that count. */
export type ConsentIssuers = ReadonlyMap<string, readonly string[]>

const ENTRY = /^([\x21-\x7e]+)@(https?:\/\/[\x21-\x7e]+)$/

/**
 * Reads the setting CONSENT_ISSUERS: `client id@issuer`, separated by commas.
 *
 * @throws Error naming the entry that is none
 */
export function parseIssuers(text: string | undefined): ConsentIssuers {
  const issuers = new Map<string, string[]>()
  const entries = (text ?? '').split(',').map((entry) => entry.trim())
  for (const entry of entries.filter((each) => each !== '')) {
    const [, client, issuer] = ENTRY.exec(entry) ?? []
    if (client === undefined || issuer === undefined || /[?#]/.test(issuer) || !isUrl(issuer))
      throw new Error(`CONSENT_ISSUERS: "${entry}" is not a client id, @ and the URL of an issuer`)
    issuers.set(issuer, [...(issuers.get(issuer) ?? []), client])
  }
  return issuers
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && new URL(text).username === ''
}
