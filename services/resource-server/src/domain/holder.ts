/** A person who holds an account, as an OpenID Connect issuer knows them. Both are compared as they are written. */
export interface Holder {
  /** `iss` of the issuer's ID tokens. */
  readonly issuer: string
  /** `sub` of these: unique to the issuer, and never given to anyone else (OpenID Connect Core §2). */
  readonly sub: string
}

/** The columns of a holder: both null unless an operator said who it is. */
export interface HolderColumns {
  readonly holderIssuer: string | null
  readonly holderSub: string | null
}

/** Reads a holder from its columns; undefined unless an operator said who it is. */
export function readHolder({ holderIssuer, holderSub }: HolderColumns): Holder | undefined {
  if (holderIssuer === null || holderSub === null) return undefined
  return { issuer: holderIssuer, sub: holderSub }
}

/** Maximum length of an issuer, and of a `sub` (OpenID Connect Core §2), in characters. */
const LENGTH_MAX = 255

/**
 * Finds what is wrong with a holder.
 *
 * @returns the member at fault, and what is wrong with it; undefined when nothing is
 */
export function findHolderProblem({
  issuer,
  sub
}: Holder): { readonly member: keyof Holder; readonly problem: string } | undefined {
  if (issuer.length > LENGTH_MAX || !isIssuer(issuer)) {
    return {
      member: 'issuer',
      problem: `must be an http or https URL without query or fragment, of at most ${LENGTH_MAX} characters`
    }
  }
  if (!/^[\x21-\x7e]{1,255}$/.test(sub)) {
    return { member: 'sub', problem: `must be 1 to ${LENGTH_MAX} visible ASCII characters` }
  }
  return undefined
}

/** Issuer identifiers (OpenID Connect Core §2). Text that a URL parser would repair is none: it is compared as it is written. */
function isIssuer(text: string): boolean {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || /[?#@\\]/.test(text)) return false
  return URL.canParse(text)
}
