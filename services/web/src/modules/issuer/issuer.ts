import * as oidc from 'openid-client'
import { ServiceAway } from '../../domain/grant.js'

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
  finish(query: string, request: Omit<SignInRequest, 'parameters'> & { maxAge?: number }): Promise<SignedIn>
  /**
   * Where the browser signs out of the issuer; undefined when that offers no such thing.
   *
   * @throws ServiceAway
   */
  signOutUrl(): Promise<string | undefined>
}

/** How the issuer is reached. */
export interface IssuerOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly scope: string
  /** Origin of the pages. */
  readonly origin: string
  readonly allowHttp: boolean
  readonly fetch: oidc.CustomFetch
}

/** Errors of the authorization endpoint by which a person did not go on (OpenID Connect Core §3.1.2.6). */
const CANCELLED: ReadonlySet<string> = new Set(['access_denied', 'login_required', 'interaction_required'])

/** Knows the issuer once it was asked: it may be away when this starts. */
export function createIssuer(options: IssuerOptions): Issuer {
  const { origin, scope, clientId } = options
  const redirectUri = `${origin}/signed-in`
  let discovered: Promise<oidc.Configuration> | undefined
  const configuration = (): Promise<oidc.Configuration> => {
    discovered ??= discover(options).catch((error: unknown) => {
      discovered = undefined
      throw error
    })
    return discovered
  }
  return {
    async signInUrl({ state, nonce, codeVerifier, parameters }) {
      const url = oidc.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...parameters
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
        throw isAway(error) ?? new SignInFailed(isCancelled(error), { cause: error })
      }
    },
    async signOutUrl() {
      const config = await configuration()
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      const parameters = { client_id: clientId, post_logout_redirect_uri: `${origin}/signed-out` }
      return oidc.buildEndSessionUrl(config, parameters).href
    }
  }
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

function isCancelled(error: unknown): boolean {
  return error instanceof oidc.AuthorizationResponseError && CANCELLED.has(error.error)
}
