import { RpcError, status } from '@open-payments-server/grpc-transport'
import type { Clock } from '@open-payments-server/value-types/clock'
import { decodeJwt, jwtVerify, type JWTPayload } from 'jose'
import { z } from 'zod'
import {
  findTokenProblem,
  type IssuerKeys,
  IssuerUnavailable,
  SIGNATURE_ALGORITHMS
} from '../issuers/index.js'
import type { Operator, Role } from './operator.js'
import { arePairwise, pairwiseProblem } from './pairwise.js'
import type { OperatorIssuer, OperatorIssuers } from './settings.js'

/** Key of the metadata that carries the ID token of the person who operates. */
export const OPERATOR_TOKEN_KEY = 'operator-token'

/** Maximum age of an ID token, whatever it says itself: a working day. */
const AGE_MAX_SECONDS = 43_200
/** By how much the clock of an issuer may differ. */
const TOLERANCE_SECONDS = 5
/** Maximum length of a name that is shown, in characters. */
const NAME_LENGTH_MAX = 100
/** Characters that move or hide others where names are shown. */
const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}]/gu

/** What verifying tokens needs. */
export interface OperatorTokenOptions {
  readonly issuers: OperatorIssuers
  readonly keys: IssuerKeys
  readonly clock: Clock
}

/** Verifies the ID token of a person who operates. */
export type VerifyOperatorToken = (token: string) => Promise<Operator>

const identifier = z.string().regex(/^[\x21-\x7e]{1,255}$/)
const claimsSchema = z.object({
  sub: identifier,
  name: z.string().optional(),
  preferred_username: z.string().optional()
})

/**
 * Creates a verifier of ID tokens (OpenID Connect Core §3.1.3.7) of the issuers of OPERATOR_ISSUERS. It throws an RpcError:
 * UNAUTHENTICATED for a token that does not count, UNAVAILABLE when the keys of its issuer cannot be had.
 */
export function createOperatorTokenVerifier(options: OperatorTokenOptions): VerifyOperatorToken {
  return async (token) => {
    const iss = issuerOf(token)
    const issuer = options.issuers.get(iss)
    if (issuer === undefined) throw unauthenticated('iss must be an issuer of OPERATOR_ISSUERS')
    const payload = await verifySignature(token, iss, issuer, options)
    assertFor(payload, issuer)
    const claims = claimsSchema.safeParse(payload)
    if (!claims.success)
      throw unauthenticated(`${claims.error.issues[0]?.path.join('.') ?? 'a claim'} is malformed`)
    const { sub: tokenSub, name, preferred_username: username } = claims.data
    const sub = personIn(payload, issuer, tokenSub)
    const shown = (name ?? username ?? '').replace(UNSHOWN, '').slice(0, NAME_LENGTH_MAX)
    // What the issuer vouches for comes first: people may choose their name themselves.
    return {
      names: [`${sub} at ${iss}${shown === '' ? '' : ` (${shown})`}`],
      person: { issuer: iss, sub, name: shown, tokenSub },
      roles: rolesIn(payload, issuer)
    }
  }
}

/** The error for a token that does not count. */
export function unauthenticated(problem: string): RpcError {
  return new RpcError({ code: status.UNAUTHENTICATED, message: `${OPERATOR_TOKEN_KEY}: ${problem}` })
}

/** Of whom a token says it is. Not verified. */
function issuerOf(token: string): string {
  try {
    return decodeJwt(token).iss ?? ''
  } catch (cause) {
    throw unauthenticated(findTokenProblem(cause) ?? 'must be a signed JWT in compact form')
  }
}

async function verifySignature(
  token: string,
  iss: string,
  { clientIds, personClaim }: OperatorIssuer,
  { keys, clock }: OperatorTokenOptions
): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys.of(iss), {
      algorithms: [...SIGNATURE_ALGORITHMS],
      issuer: iss,
      audience: [...clientIds],
      requiredClaims: ['sub', 'exp', 'iat'],
      maxTokenAge: AGE_MAX_SECONDS,
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: new Date(clock.now())
    })
    const { typ = 'JWT' } = protectedHeader
    if (typ.toUpperCase() !== 'JWT') throw unauthenticated('typ must be JWT: it is no ID token')
    if (personClaim === undefined && arePairwise(await keys.subjectTypesOf(iss)))
      throw unauthenticated(pairwiseProblem(iss))
    return payload
  } catch (error) {
    if (error instanceof IssuerUnavailable)
      throw new RpcError({ code: status.UNAVAILABLE, message: 'Service unavailable', cause: error })
    const problem = findTokenProblem(error)
    throw problem === undefined ? error : unauthenticated(problem)
  }
}

/** Whoever else a token is for could have been given it, and pass it on. */
function assertFor({ aud, azp }: JWTPayload, { clientIds }: OperatorIssuer): void {
  const audiences = Array.isArray(aud) ? aud : [aud ?? '']
  if (!audiences.every((audience) => clientIds.includes(audience)))
    throw unauthenticated('aud must be a client of its issuer in OPERATOR_ISSUERS, and nobody else')
  if (azp !== undefined && !(typeof azp === 'string' && clientIds.includes(azp)))
    throw unauthenticated('azp must be a client of its issuer in OPERATOR_ISSUERS')
}

/** What tells a person from everyone else: at every client the same. */
function personIn(payload: JWTPayload, { personClaim }: OperatorIssuer, sub: string): string {
  if (personClaim === undefined) return sub
  const found = identifier.safeParse(payload[personClaim])
  if (!found.success) throw unauthenticated(`${personClaim} is missing or malformed`)
  return found.data
}

function rolesIn(payload: JWTPayload, { rolesClaim, rolesOfValue }: OperatorIssuer): Set<Role> {
  let found: unknown = payload
  for (const name of rolesClaim) {
    const isObject = typeof found === 'object' && found !== null && Object.hasOwn(found, name)
    found = isObject ? (found as Readonly<Record<string, unknown>>)[name] : undefined
  }
  const given: readonly unknown[] = Array.isArray(found) ? found : [found]
  return new Set(
    given.flatMap((value) => (typeof value === 'string' ? [...(rolesOfValue.get(value) ?? [])] : []))
  )
}
