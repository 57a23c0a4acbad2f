import { type Amount, parseThresholds, type Thresholds } from '@open-payments-server/value-types/amounts'
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
 * A rule by amount: what all payments together may take, by asset. Payments without a limit, and in an asset that is not listed,
 * always need a fresh sign-in.
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
    return `auth_time must be at most ${String(ageMaxSeconds)} seconds ago: this consent needs a fresh sign-in`
  if (acrValues.length > 0 && (acr === undefined || !acrValues.includes(acr)))
    return `acr must be one of ${acrValues.join(', ')}`
  return undefined
}

function reaches(access: readonly AccessItem[], from: Exclude<Thresholds, 'always'>): boolean {
  const paying = access.filter(
    ({ type, actions }) => type === 'outgoing-payment' && actions.includes('create')
  )
  const amounts: Amount[] = []
  for (const { limits } of paying) {
    const amount = limits?.debitAmount ?? limits?.receiveAmount
    if (amount === undefined || !from.has(amount.asset.code)) return true
    amounts.push(amount)
  }
  return [...from].some(([code, threshold]) => {
    const ofCode = amounts.filter(({ asset }) => asset.code === code)
    const scale = Math.max(threshold.scale, ...ofCode.map(({ asset }) => asset.scale))
    const total = ofCode.reduce((sum, { value, asset }) => sum + scaled(value, asset.scale, scale), 0n)
    return ofCode.length > 0 && total >= scaled(threshold.value, threshold.scale, scale)
  })
}

/** A value in smaller units. */
function scaled(value: bigint, from: number, to: number): bigint {
  return value * 10n ** BigInt(to - from)
}
