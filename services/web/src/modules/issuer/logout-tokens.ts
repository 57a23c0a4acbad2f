import type { Clock } from '@open-payments-server/value-types/clock'
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { Configuration, CustomFetch } from 'openid-client'
import { z } from 'zod'
import { ServiceAway } from '../../domain/grant.js'

/** What a logout token is about (OpenID Connect Back-Channel Logout 1.0 §2.4). */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/**
 * How often keys are fetched for tokens by an unknown one, in milliseconds. An issuer says once that a session has ended, perhaps right after it
 * began with another key; and anybody may send tokens by keys of their own.
 */
const FETCHED_EVERY_MS = 1_000
/** How old one may be, in seconds, and by how much the issuer's clock may differ. */
const [AGE_MAX_SECONDS, TOLERANCE_SECONDS] = [300, 60]
/** Those of an issuer's published keys. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519'
]

/** `sid` is required of the issuer: `sub` alone would end sessions that began afterwards. An ID token has a nonce, and is none. */
const claims = z.object({
  sid: z.string().min(1),
  jti: z.string().min(1),
  events: z.object({ [LOGOUT_EVENT]: z.looseObject({}) }),
  nonce: z.undefined().optional()
})
const types: ReadonlySet<string | undefined> = new Set([
  undefined,
  'JWT',
  'logout+jwt',
  'application/logout+jwt'
])

/** Verifies logout tokens of an issuer. */
export interface LogoutTokens {
  /**
   * @returns `sid` of the session that has ended; undefined for what the issuer did not say to this client
   * @throws ServiceAway
   */
  verify(token: string): Promise<string | undefined>
}

/** @param configuration of the issuer */
export function createLogoutTokens(
  options: {
    readonly issuer: string
    readonly clientId: string
    readonly fetch: CustomFetch
    readonly clock: Clock
  },
  configuration: () => Promise<Configuration>
): LogoutTokens {
  const { issuer, clientId, fetch, clock } = options
  let known: { readonly uri: string; readonly keys: JWTVerifyGetKey } | undefined
  return {
    async verify(token) {
      const uri = keysUriOf(await configuration())
      // Not a new one each time: it remembers the keys, and when it asked for them.
      if (known?.uri !== uri) known = { uri, keys: keysAt(uri, fetch) }
      try {
        const { payload, protectedHeader } = await jwtVerify(token, known.keys, {
          issuer,
          audience: clientId,
          algorithms: ALGORITHMS,
          maxTokenAge: AGE_MAX_SECONDS,
          clockTolerance: TOLERANCE_SECONDS,
          currentDate: new Date(clock.now())
        })
        return types.has(protectedHeader.typ) ? claims.safeParse(payload).data?.sid : undefined
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error
        if (isAway(error)) throw new ServiceAway('the issuer', { cause: error })
        // Whatever it is, the issuer did not say it: anybody can send something.
        return undefined
      }
    }
  }
}

function keysUriOf(configuration: Configuration): string {
  const { jwks_uri: uri } = configuration.serverMetadata()
  if (uri === undefined) throw new ServiceAway('the issuer', { cause: new Error('it publishes no keys') })
  return uri
}

function keysAt(uri: string, fetch: CustomFetch): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(uri), {
    cooldownDuration: FETCHED_EVERY_MS,
    [customFetch]: (url) => fetch(url, { method: 'GET', headers: {}, redirect: 'manual', body: undefined })
  })
}

/** Its keys did not come, or were no keys. */
function isAway(error: errors.JOSEError): boolean {
  return (
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC'
  )
}
