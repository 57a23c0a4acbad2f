import { measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'
import { invalid, ProviderFailure } from './provider-failure.js'
import { fieldOf, httpUrl } from './schemas.js'

/** What another provider's auth server lets us do there: the token, and how long. */
export interface ProviderGrant {
  /** The value of the access token. Secret. */
  readonly accessToken: string
  /** Where the token is rotated, at the origin of the auth server; undefined where it cannot be. */
  readonly manageUrl: string | undefined
  /** When it was requested, in milliseconds since the Unix epoch. */
  readonly obtainedAtMs: number
  /** When it ends, in milliseconds since the Unix epoch; undefined when the auth server does not say. */
  readonly expiresAtMs: number | undefined
}

/** Maximum length of an access token, in characters. */
const TOKEN_LENGTH_MAX = 4_096
/** What a token may consist of (RFC 9635 §3.2.1): `token68` of RFC 9110 §11.2. */
const TOKEN68 = /^[A-Za-z0-9\-._~+/]+=*$/
/** The longest lifetime that is believed, in seconds: a year. */
const LIFETIME_MAX_SECONDS = 31_536_000

const answerSchema = z.object({
  access_token: z
    .object({
      value: measuredText(z.string().max(TOKEN_LENGTH_MAX).regex(TOKEN68)),
      manage: httpUrl.optional(),
      expires_in: z.int().min(1).optional()
    })
    .optional(),
  interact: z.unknown().optional()
})

/**
 * Reads the answer to a grant request (RFC 9635 §3), or to the rotation of a token (§6.1.1).
 *
 * @param options.authServer URL of the auth server that answered
 * @param options.askedAtMs when it was asked, in milliseconds since the Unix epoch
 * @returns without `manageUrl` when the token would be managed at another origin: it must not be sent to wherever a false answer points
 * @throws ProviderFailure `refused` when a person must interact; `invalid` for anything else without a usable token
 */
export function readGrantAnswer(
  body: unknown,
  { authServer, askedAtMs }: { readonly authServer: string; readonly askedAtMs: number }
): ProviderGrant {
  const { data, error } = answerSchema.safeParse(body)
  if (data === undefined) throw invalid(`grant answer: ${fieldOf(error)}`)
  const { access_token: token, interact } = data
  if (token === undefined)
    throw interact === undefined ? invalid('grant answer: access_token') : interactionWanted()
  const { value, manage, expires_in: lifetimeSeconds } = token
  const isManagedHere = manage !== undefined && new URL(manage).origin === new URL(authServer).origin
  return {
    accessToken: value,
    manageUrl: isManagedHere ? manage : undefined,
    obtainedAtMs: askedAtMs,
    expiresAtMs:
      lifetimeSeconds === undefined
        ? undefined
        : askedAtMs + Math.min(lifetimeSeconds, LIFETIME_MAX_SECONDS) * 1_000
  }
}

function interactionWanted(): ProviderFailure {
  return new ProviderFailure({
    kind: 'refused',
    field: 'grant answer: interact',
    message: 'another provider wants a person to interact'
  })
}
