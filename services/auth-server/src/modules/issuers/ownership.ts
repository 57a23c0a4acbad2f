import { type Ed25519Jwk, parseEd25519Jwk } from '@open-payments-server/http-signatures'
import { findTokenProblem } from '@open-payments-server/service-kit/issuers'
import type { Clock } from '@open-payments-server/value-types/clock'
import { createLocalJWKSet, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import type { OwnershipVerifier, VerifiedIdToken } from '../../domain/consent-proof.js'
import { invalidField } from '../../domain/errors.js'

/** Type of the statements: no other token can be taken for one (RFC 8725 §3.11). */
const OWNERSHIP_TYPE = 'ownership+jwt'

/** Maximum age of a statement, in seconds, whatever it says itself. */
const AGE_MAX_SECONDS = 3_600

/** What verifying statements needs. */
export interface OwnershipVerifierOptions {
  /** Public keys of the resource server; none when no statement counts. */
  readonly keys: readonly Ed25519Jwk[]
  /** The grant endpoint. */
  readonly audience: string
  readonly clock: Clock
  /** By how much the clock of the resource server may differ, in seconds. */
  readonly toleranceSeconds: number
}

const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  holder_issuer: z.string(),
  wallet_address: z.string(),
  holder_claim: z.object({ name: z.string(), value: z.string() }).optional()
})

type Statement = z.output<typeof claimsSchema>

/**
 * Reads the setting OWNERSHIP_PUBLIC_KEYS: a JWK Set of public keys.
 *
 * @throws Error that says what is wrong, and repeats nothing
 */
export function parseOwnershipKeys(text: string | undefined): readonly Ed25519Jwk[] {
  if (text === undefined) return []
  let keys: unknown
  try {
    ;({ keys } = JSON.parse(text) as { readonly keys: unknown })
  } catch {
    // The error of the parser quotes the text, which may be a private key by mistake.
  }
  if (!Array.isArray(keys) || keys.length === 0)
    throw new Error('OWNERSHIP_PUBLIC_KEYS: must be a JWK Set: {"keys": [ … ]}')
  try {
    const parsed = keys.map(parseEd25519Jwk)
    if (new Set(parsed.map(({ kid }) => kid)).size < parsed.length)
      throw new Error('two keys have the same kid')
    return parsed
  } catch (error) {
    throw new Error(`OWNERSHIP_PUBLIC_KEYS: ${(error as Error).message}`, { cause: error })
  }
}

/** Creates a verifier of statements. */
export function createOwnershipVerifier(options: OwnershipVerifierOptions): OwnershipVerifier {
  const keys = createLocalJWKSet({ keys: [...options.keys] })
  return {
    async verify(ownership, holder, walletAddress) {
      const statement = await verifySignature(ownership, keys, options)
      const { iss, wallet_address: stated } = statement
      if (stated !== walletAddress || !(stated === iss || stated.startsWith(`${iss}/`)))
        throw wrong('wallet_address must be that of the grant, hosted by its iss')
      assertHeldBy(statement, holder)
    }
  }
}

async function verifySignature(
  ownership: string,
  keys: JWTVerifyGetKey,
  { audience, clock, toleranceSeconds }: OwnershipVerifierOptions
): Promise<Statement> {
  try {
    const { payload } = await jwtVerify(ownership, keys, {
      algorithms: ['EdDSA'],
      typ: OWNERSHIP_TYPE,
      audience,
      requiredClaims: ['iss', 'sub', 'iat', 'exp', 'jti'],
      maxTokenAge: AGE_MAX_SECONDS,
      clockTolerance: toleranceSeconds,
      currentDate: new Date(clock.now())
    })
    const claims = claimsSchema.safeParse(payload)
    if (!claims.success) throw wrong('must state who holds which wallet address')
    return claims.data
  } catch (error) {
    const problem = findTokenProblem(error)
    throw problem === undefined ? error : wrong(problem)
  }
}

function assertHeldBy(
  { sub, holder_issuer: issuer, holder_claim: claim }: Statement,
  holder: VerifiedIdToken
): void {
  if (issuer !== holder.issuer || sub !== holder.sub)
    throw wrong('holder_issuer and sub must be iss and sub of the ID token')
  if (claim === undefined) return
  const value = Object.hasOwn(holder.claims, claim.name) ? holder.claims[claim.name] : undefined
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (!values.includes(claim.value)) throw wrong('the ID token does not have the claim that makes it true')
}

function wrong(problem: string): Error {
  return invalidField('ownership', problem)
}
