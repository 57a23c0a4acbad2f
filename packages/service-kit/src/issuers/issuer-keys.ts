import { OutgoingRequestError, type SafeHttpClient } from '@open-payments-server/http-client'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'

/** How long the keys of an issuer are used before they are fetched again, in milliseconds. */
const LIFETIME_MS = 600_000

/** How long after a fetch an unknown key makes the keys be fetched again at the earliest, in milliseconds. */
const COOLDOWN_MS = 10_000

/** Why keys of an issuer cannot be had now. */
export class IssuerUnavailable extends Error {
  override readonly name = 'IssuerUnavailable'

  /** @param issuer whose keys they are */
  constructor(issuer: string, cause: unknown) {
    super(`the keys of ${issuer} cannot be fetched`, { cause })
  }
}

/** Finds the keys that an issuer signs with. */
export interface IssuerKeys {
  /**
   * The keys of an issuer, for verifying a signature. They are fetched when they are not known, too old, or when a signature
   * names another: issuers rotate their keys.
   *
   * @throws IssuerUnavailable when they cannot be had
   */
  of(issuer: string): JWTVerifyGetKey
  /**
   * What `sub` of an issuer's tokens is, as its discovery document said last: `public` for the same at every client, `pairwise` for
   * another at each (OpenID Connect Core §8). undefined where it does not say.
   *
   * @throws IssuerUnavailable when it was never had and cannot be
   */
  subjectTypesOf(issuer: string): Promise<readonly string[] | undefined>
}

/** What finding keys needs. */
export interface IssuerKeysOptions {
  readonly httpClient: Pick<SafeHttpClient, 'getJson'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn'>
  /** Whether keys may be at an http URL. */
  readonly allowHttp: boolean
}

interface FetchedKeys {
  readonly find: JWTVerifyGetKey
  readonly subjectTypes: readonly string[] | undefined
  readonly fetchedAtMs: number
}

const discoverySchema = z.object({
  issuer: z.string(),
  jwks_uri: z.string(),
  subject_types_supported: z.array(z.string()).optional()
})

const jwksSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) })

/** Creates {@link IssuerKeys}, which asks each issuer at its discovery document (OpenID Connect Discovery §4), and caches its keys. */
export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const fetched = new Map<string, FetchedKeys>()
  const running = new Map<string, Promise<FetchedKeys>>()

  const fetchOnce = (issuer: string): Promise<FetchedKeys> => {
    const fetching = running.get(issuer)
    if (fetching !== undefined) return fetching
    const started = fetchKeys(issuer, options)
      .then((keys) => {
        fetched.set(issuer, keys)
        return keys
      })
      .finally(() => running.delete(issuer))
    running.set(issuer, started)
    return started
  }

  return {
    of: (issuer) => async (header, token) => {
      const nowMs = options.clock.now()
      const known = fetched.get(issuer)
      const isFresh = known !== undefined && nowMs - known.fetchedAtMs < LIFETIME_MS
      const keys = isFresh ? known : await fetchOnce(issuer)
      try {
        return await keys.find(header, token)
      } catch (error) {
        const isOld = nowMs - keys.fetchedAtMs >= COOLDOWN_MS
        if (!(error instanceof errors.JWKSNoMatchingKey) || !isOld) throw error
        return (await fetchOnce(issuer)).find(header, token)
      }
    },
    subjectTypesOf: async (issuer) => (fetched.get(issuer) ?? (await fetchOnce(issuer))).subjectTypes
  }
}

async function fetchKeys(
  issuer: string,
  { httpClient, clock, logger, allowHttp }: IssuerKeysOptions
): Promise<FetchedKeys> {
  try {
    const discovery = await httpClient.getJson(
      `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    )
    const document = discoverySchema.parse(discovery.body)
    // A document of another issuer would let that issuer speak for this one (OpenID Connect Discovery §4.3).
    if (document.issuer !== issuer) throw new Error('the discovery document is of another issuer')
    if (!allowHttp && !document.jwks_uri.startsWith('https://'))
      throw new Error('jwks_uri must be an https URL')
    const { keys } = jwksSchema.parse((await httpClient.getJson(document.jwks_uri)).body)
    const subjectTypes = document.subject_types_supported
    return { find: createLocalJWKSet({ keys }), subjectTypes, fetchedAtMs: clock.now() }
  } catch (error) {
    const reason = error instanceof OutgoingRequestError ? error.reason : 'malformed'
    logger.warn({ issuer, reason, error }, 'the keys of an issuer cannot be fetched')
    throw new IssuerUnavailable(issuer, error)
  }
}
