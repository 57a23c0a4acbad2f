import type { Clock } from '@open-payments-server/value-types/clock'
import * as oidc from 'openid-client'
import { ServiceAway } from '../../domain/grant.js'
import { createLogoutTokens } from './logout-tokens.js'

/** Why the issuer answered without a sign-in. */
export class SignInFailed extends Error {
  override readonly name = 'SignInFailed'
  /** Whether the person did not go on, rather than anything being wrong. */
  readonly isCancelled: boolean

  constructor(isCancelled: boolean, options: ErrorOptions) {
    super('the issuer signed nobody in', options)
    this.isCancelled = isCancelled
  }
}

/** What is asked of the issuer. */
export interface SignInRequest {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  /** `prompt`, `max_age`, `acr_values`, `ui_locales`; those that are set. */
  readonly parameters: Readonly<Record<string, string>>
  /** What somebody consents to by it, without types, for an issuer that takes such details. */
  readonly details: readonly Readonly<Record<string, unknown>>[]
}

/** What came back. */
export interface SignedIn {
  /** In compact form. */
  readonly idToken: string
  readonly claims: Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string }
}

/** An OpenID Connect issuer: authorization code with PKCE. */
export interface Issuer {
  /**
   * Where the browser signs in.
   *
   * @throws ServiceAway
   */
  signInUrl(request: SignInRequest): Promise<string>
  /**
   * Exchanges what the browser came back with.
   *
   * @param query of the URL that it came to
   * @throws SignInFailed, ServiceAway
   */
  finish(
    query: string,
    request: Omit<SignInRequest, 'parameters' | 'details'> & { maxAge?: number }
  ): Promise<SignedIn>
  /**
   * Where the browser signs out of the issuer; undefined when that offers no such thing.
   *
   * @param idToken of whoever signs out, if it is still known: without it, issuers may ask them again, or refuse
   * @throws ServiceAway
   */
  signOutUrl(idToken: string | undefined): Promise<string | undefined>
  /**
   * Verifies the issuer's word that a session there has ended (OpenID Connect Back-Channel Logout 1.0 §2.6).
   *
   * @returns `sid` of that session; undefined for what the issuer did not say to this client
   * @throws ServiceAway
   */
  endedSession(logoutToken: string): Promise<string | undefined>
}

/** How the issuer is reached. */
export interface IssuerOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly scope: string
  /** Origin of the pages. */
  readonly origin: string
  /** Type of the details of a consent (RFC 9396); without it none are sent. */
  readonly detailsType: string | undefined
  readonly allowHttp: boolean
  readonly fetch: oidc.CustomFetch
  readonly clock: Clock
}

/** Errors of the authorization endpoint by which a person did not go on (OpenID Connect Core §3.1.2.6). */
const CANCELLED: ReadonlySet<string> = new Set(['access_denied', 'login_required', 'interaction_required'])

/** Knows the issuer once it was asked: it may be away when this starts. */
export function createIssuer(options: IssuerOptions): Issuer {
  const { origin, scope, clientId, detailsType } = options
  const redirectUri = `${origin}/signed-in`
  let discovered: Promise<oidc.Configuration> | undefined
  const configuration = (): Promise<oidc.Configuration> => {
    discovered ??= discover(options).catch((error: unknown) => {
      discovered = undefined
      throw error
    })
    return discovered
  }
  const logoutTokens = createLogoutTokens(options, configuration)
  return {
    async signInUrl({ state, nonce, codeVerifier, parameters, details }) {
      const config = await configuration()
      const isTold = detailsType !== undefined && takesDetails(config, detailsType) && details.length > 0
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...parameters,
        ...(isTold
          ? { authorization_details: JSON.stringify(details.map((each) => ({ type: detailsType, ...each }))) }
          : {})
      })
      return url.href
    },
    async finish(query, { state, nonce, codeVerifier, maxAge }) {
      const config = await configuration()
      try {
        const tokens = await oidc.authorizationCodeGrant(config, new URL(`${redirectUri}?${query}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
          ...(maxAge === undefined ? {} : { maxAge })
        })
        const claims = tokens.claims()
        if (claims === undefined || tokens.id_token === undefined) throw new Error('no ID token came')
        return { idToken: tokens.id_token, claims }
      } catch (error) {
        // The library asks for keys once a minute at most. The next sign-in asks anew.
        if (isUnknownKey(error)) discovered = undefined
        throw isAway(error) ?? new SignInFailed(isCancelled(error), { cause: error })
      }
    },
    endedSession: (logoutToken) => logoutTokens.verify(logoutToken),
    async signOutUrl(idToken) {
      const config = await configuration()
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      const parameters = {
        client_id: clientId,
        post_logout_redirect_uri: `${origin}/signed-out`,
        ...(idToken === undefined ? {} : { id_token_hint: idToken })
      }
      return oidc.buildEndSessionUrl(config, parameters).href
    }
  }
}

/** Whether the issuer says that it takes details of a type (RFC 9396 §10). */
function takesDetails(config: oidc.Configuration, type: string): boolean {
  const { authorization_details_types_supported: taken } = config.serverMetadata()
  return Array.isArray(taken) && taken.includes(type)
}

async function discover(options: IssuerOptions): Promise<oidc.Configuration> {
  const { issuer, clientId, clientSecret, allowHttp, fetch } = options
  const authentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret)
  try {
    return await oidc.discovery(new URL(issuer), clientId, undefined, authentication, {
      [oidc.customFetch]: fetch,
      // The signature is verified even though the token comes from the issuer itself.
      execute: [
        oidc.enableNonRepudiationChecks,
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- for development alone, where an issuer is on http
        ...(allowHttp ? [oidc.allowInsecureRequests] : [])
      ]
    })
  } catch (error) {
    throw isAway(error) ?? new ServiceAway('the issuer', { cause: error })
  }
}

/** The library wraps what the connection threw. */
function isAway(error: unknown): ServiceAway | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof ServiceAway) return each
  return undefined
}

/** The issuer signed with a key that it had not published when it was asked last. */
function isUnknownKey(error: unknown): boolean {
  return error instanceof oidc.ClientError && error.code === 'OAUTH_KEY_SELECTION_FAILED'
}

function isCancelled(error: unknown): boolean {
  return error instanceof oidc.AuthorizationResponseError && CANCELLED.has(error.error)
}
