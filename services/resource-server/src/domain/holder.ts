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

/** A change of who holds an account, as events tell it. */
export interface HolderChangeWire {
  /** Null for nobody. */
  readonly before: Holder | null
  /** Null for nobody. */
  readonly after: Holder | null
  /** Who ordered it: a person, or the names in a machine's certificate; empty for a machine in plain text. */
  readonly by: string
}

/** Who holds the accounts for which no operator said so. */
export interface HolderClaim {
  /** Issuer of the ID tokens. */
  readonly issuer: string
  /** Claim in them that has the names of accounts. */
  readonly name: string
}

/** What decides who holds an account. */
export interface AccountHolding {
  readonly accountName: string
  /** undefined unless an operator said who it is. */
  readonly holder: Holder | undefined
}

/** A person who asks for what they hold. */
export interface Claimant extends Holder {
  /** Names of accounts in the claim of their ID token. */
  readonly claimValues: readonly string[]
}

/**
 * By what a person holds an account: the one rule for it.
 *
 * @param holderClaim undefined when only operators say who holds an account
 * @returns `operator`: an operator said so; `claim`: nobody was set, and the claim of their ID token names the account; undefined: they
 *   do not hold it
 */
export function findTitle(
  { issuer, sub, claimValues }: Claimant,
  { holder, accountName }: AccountHolding,
  holderClaim: HolderClaim | undefined
): 'operator' | 'claim' | undefined {
  if (holder !== undefined) return holder.issuer === issuer && holder.sub === sub ? 'operator' : undefined
  return holderClaim?.issuer === issuer && claimValues.includes(accountName) ? 'claim' : undefined
}
