import type { Clock } from '@open-payments-server/value-types/clock'
import canonicalize from 'canonicalize'
import {
  type ConsentProof,
  hashDocument,
  type IdTokenVerifier,
  type OwnershipVerifier,
  type VerifiedIdToken
} from '../domain/consent-proof.js'
import { invalidField } from '../domain/errors.js'
import { findSignInProblem, type SignInDemand } from '../domain/sign-in-rule.js'

/** What verifying that an account holder wants something needs. */
export interface ProveHolderDependencies {
  readonly idTokens: IdTokenVerifier
  readonly ownerships: OwnershipVerifier
  readonly clock: Clock
  /** By how much the clocks of issuers may differ, in seconds. */
  readonly toleranceSeconds: number
}

/** What an account holder wants. */
export interface ProvenWish {
  /** Canonical JSON (RFC 8785) of all of it. The base64url of its SHA-256 is the nonce of the ID token. */
  readonly document: string
  /** URL of the wallet address that they must hold. */
  readonly walletAddress: string
  /** How they must have signed in; undefined when that does not matter. */
  readonly demand: SignInDemand | undefined
}

/**
 * Verifies that the holder of a wallet address wants something.
 *
 * @returns who it is
 * @throws Refusal `invalid-field` `idToken` or `ownership`; `issuer-unavailable`
 */
export async function proveHolder(
  { idToken, ownership }: ConsentProof,
  { document, walletAddress, demand }: ProvenWish,
  { idTokens, ownerships, clock, toleranceSeconds }: ProveHolderDependencies
): Promise<VerifiedIdToken> {
  const holder = await idTokens.verify(idToken, hashDocument(document).toString('base64url'))
  const problem = demand && findSignInProblem(holder, demand, clock.now(), toleranceSeconds)
  if (problem !== undefined) throw invalidField('idToken', problem)
  await ownerships.verify(ownership, holder, walletAddress)
  return holder
}

/** Canonical JSON (RFC 8785). */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('only JSON has a canonical form')
  return text
}
