import {
  type Amount,
  parseThresholds,
  reachThresholds,
  type Thresholds
} from '@open-payments-server/value-types/amounts'
import { isPaying, parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import type { AccessItem } from './access.js'
import type { VerifiedIdToken } from './consent-proof.js'

/** How an account holder must have signed in for a consent to count. */
export interface SignInDemand {
  /** Maximum time since they signed in, in seconds (`auth_time`). */
  readonly ageMaxSeconds: number
  /** Authentication context classes, one of which they must have signed in with (`acr`); empty for any. */
  readonly acrValues: readonly string[]
}

/** Says which consent needs a fresh sign-in: undefined where the session at the issuer suffices. */
export type SignInRule = (access: readonly AccessItem[]) => SignInDemand | undefined

/**
 * Reads the setting CONSENT_SIGN_IN_FROM.
 *
 * @returns undefined for no text: no consent needs a fresh sign-in
 * @throws Error naming the entry that is none
 */
export function parseSignInFrom(text: string | undefined): Thresholds | undefined {
  return text === undefined ? undefined : parseThresholds(text, 'CONSENT_SIGN_IN_FROM')
}

/**
 * A rule by amount: what all payments together may take in all intervals, in whatever assets. Payments without a limit, with one that begins anew
 * without end, and in an asset that is not listed, always need a fresh sign-in.
 */
export function createSignInRule(from: Thresholds | undefined, demand: SignInDemand): SignInRule {
  if (from === undefined) return () => undefined
  if (from === 'always') return () => demand
  return (access) => (reaches(access, from) ? demand : undefined)
}

/**
 * What is wrong with how somebody signed in.
 *
 * @param toleranceSeconds by how much the issuer's clock may differ
 * @returns undefined when it is as demanded
 */
export function findSignInProblem(
  { authTimeMs, acr }: Pick<VerifiedIdToken, 'authTimeMs' | 'acr'>,
  { ageMaxSeconds, acrValues }: SignInDemand,
  nowMs: number,
  toleranceSeconds: number
): string | undefined {
  const ageSeconds = authTimeMs === undefined ? Number.POSITIVE_INFINITY : (nowMs - authTimeMs) / 1_000
  if (ageSeconds > ageMaxSeconds + toleranceSeconds || ageSeconds < -toleranceSeconds)
    return `auth_time must be at most ${String(ageMaxSeconds)} seconds ago: a fresh sign-in is needed`
  if (acrValues.length > 0 && (acr === undefined || !acrValues.includes(acr)))
    return `acr must be one of ${acrValues.join(', ')}`
  return undefined
}

/** Whether payments are at the thresholds together, or above them. */
function reaches(access: readonly AccessItem[], from: Thresholds): boolean {
  const amounts = access.filter(isPaying).map(allOf)
  const limited = amounts.filter((amount) => amount !== undefined)
  return limited.length < amounts.length || reachThresholds(limited, from)
}

/** What the payments of an access item may take in all its intervals; undefined for any amount. */
function allOf({ limits }: AccessItem): Amount | undefined {
  const amount = limits?.debitAmount ?? limits?.receiveAmount
  const count = limits?.interval === undefined ? 1 : parseRepeatingInterval(limits.interval).count
  return amount === undefined || count === undefined
    ? undefined
    : { ...amount, value: amount.value * BigInt(count) }
}
