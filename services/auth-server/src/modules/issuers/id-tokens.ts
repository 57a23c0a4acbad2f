import {
  findTokenProblem,
  type IssuerKeys,
  IssuerUnavailable,
  SIGNATURE_ALGORITHMS
} from '@open-payments-server/service-kit/issuers'
import type { Clock } from '@open-payments-server/value-types/clock'
import { decodeJwt, jwtVerify, type JWTPayload } from 'jose'
import { z } from 'zod'
import type { IdTokenVerifier, VerifiedIdToken } from '../../domain/consent-proof.js'
import { invalidField, issuerUnavailable } from '../../domain/errors.js'
import type { ConsentIssuers } from './issuers.js'

/** What verifying ID tokens needs. */
export interface IdTokenVerifierOptions {
  readonly issuers: ConsentIssuers
  readonly keys: IssuerKeys
  readonly clock: Clock
  /** Maximum age of an ID token, in seconds. */
  readonly ageMaxSeconds: number
  /** By how much the clocks of issuers may differ, in seconds. */
  readonly toleranceSeconds: number
}

/** The claims that are kept, as far as they are there. */
const claimsSchema = z.object({
  sub: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  acr: z.string().max(256).optional(),
  amr: z.array(z.string().max(64)).max(16).optional(),
  auth_time: z.number().int().min(0).max(253_402_300_799).optional()
})

/** Creates a verifier of ID tokens (OpenID Connect Core §3.1.3.7). */
export function createIdTokenVerifier(options: IdTokenVerifierOptions): IdTokenVerifier {
  return {
    async verify(idToken, nonce) {
      const issuer = issuerOf(idToken)
      const clients = options.issuers.get(issuer)
      if (clients === undefined) throw wrong('iss must be an issuer of CONSENT_ISSUERS')
      const payload = await verifySignature(idToken, issuer, clients, options)
      assertFor(payload, clients)
      if (payload.nonce !== nonce)
        throw wrong('nonce must be the base64url SHA-256 of the document that it is about')
      return restore(issuer, payload)
    }
  }
}

/** Of whom a token says it is. Not verified. */
function issuerOf(idToken: string): string {
  try {
    return decodeJwt(idToken).iss ?? ''
  } catch (cause) {
    throw invalidField('idToken', findTokenProblem(cause) ?? 'must be a signed JWT in compact form')
  }
}

async function verifySignature(
  idToken: string,
  issuer: string,
  clients: readonly string[],
  { keys, clock, ageMaxSeconds, toleranceSeconds }: IdTokenVerifierOptions
): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(idToken, keys.of(issuer), {
      algorithms: [...SIGNATURE_ALGORITHMS],
      issuer,
      audience: [...clients],
      requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
      maxTokenAge: ageMaxSeconds,
      clockTolerance: toleranceSeconds,
      currentDate: new Date(clock.now())
    })
    const { typ = 'JWT' } = protectedHeader
    if (typ.toUpperCase() !== 'JWT') throw wrong(`typ must be JWT: it is no ID token`)
    return payload
  } catch (error) {
    if (error instanceof IssuerUnavailable) throw issuerUnavailable(error)
    const problem = findTokenProblem(error)
    throw problem === undefined ? error : wrong(problem)
  }
}

/** Whoever else a token is for could have been given it, and pass it on. */
function assertFor({ aud, azp }: JWTPayload, clients: readonly string[]): void {
  const audiences = Array.isArray(aud) ? aud : [aud ?? '']
  if (!audiences.every((audience) => clients.includes(audience)))
    throw wrong('aud must be a client of its issuer in CONSENT_ISSUERS, and nobody else')
  if (azp !== undefined && !(typeof azp === 'string' && clients.includes(azp)))
    throw wrong('azp must be a client of its issuer in CONSENT_ISSUERS')
}

function restore(issuer: string, payload: JWTPayload): VerifiedIdToken {
  const claims = claimsSchema.safeParse(payload)
  if (!claims.success) throw wrong(`${claims.error.issues[0]?.path.join('.') ?? 'a claim'} is malformed`)
  const { sub, acr, amr = [], auth_time: authTime } = claims.data
  return {
    issuer,
    sub,
    acr,
    amr,
    authTimeMs: authTime === undefined ? undefined : authTime * 1_000,
    claims: payload
  }
}

function wrong(problem: string): Error {
  return invalidField('idToken', problem)
}
