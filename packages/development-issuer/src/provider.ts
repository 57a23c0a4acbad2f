import { inspect } from 'node:util'
import { type AdapterFactory, type Configuration, Provider } from 'oidc-provider'
import { type IssuerKeys, SIGNATURE_ALGORITHM } from './keys.js'
import type { IssuerOptions, Person } from './options.js'
import { deviceCodePage, deviceConfirmPage, noticePage, signOutPage } from './pages.js'

/** `acr` of a sign-in by name and password. */
export const PASSWORD_ACR = 'urn:open-payments:development:password'

const SESSION_LIFETIME_SECONDS = 8 * 3_600
const INTERACTION_LIFETIME_SECONDS = 3_600
/** Pages sign in anew without being noticed. A program cannot: its ID tokens last as long as the session. */
const TOKEN_LIFETIME_SECONDS = 600

/** A program of the person who signs in, which can keep no secret. */
const PUBLIC_CLIENT = {
  token_endpoint_auth_method: 'none' as const,
  application_type: 'native' as const,
  grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code']
}

/** What a provider is made of. */
export interface ProviderParts {
  /** `iss`, with its port. */
  readonly url: string
  readonly options: IssuerOptions
  readonly keys: IssuerKeys
  /** Keeps what outlives this provider when keys are rotated. */
  readonly adapter: AdapterFactory
}

/**
 * Creates the OpenID Provider: authorization code with PKCE, and for programs of the person the device grant (RFC 8628). Whoever signed
 * in is not asked for consent.
 */
export function createProvider({ url, options, keys, adapter }: ProviderParts): Provider {
  const provider = new Provider(url, {
    adapter,
    clients: options.clients.map(({ clientId, clientSecret, ...client }) => ({
      ...(options.authorizationDetailsTypes.length === 0
        ? {}
        : { authorization_details_types: options.authorizationDetailsTypes }),
      client_id: clientId,
      ...(clientSecret === undefined ? PUBLIC_CLIENT : { client_secret: clientSecret }),
      redirect_uris: client.redirectUris,
      post_logout_redirect_uris: client.postLogoutRedirectUris,
      ...(client.backchannelLogoutUri === undefined
        ? {}
        : { backchannel_logout_uri: client.backchannelLogoutUri, backchannel_logout_session_required: true })
    })),
    clientDefaults: { id_token_signed_response_alg: SIGNATURE_ALGORITHM },
    enabledJWA: { idTokenSigningAlgValues: [SIGNATURE_ALGORITHM] },
    jwks: { keys: [...keys.signing] },
    cookies: { keys: [keys.cookie], names: cookieNames(url) },
    responseTypes: ['code'],
    pkce: { required: () => true },
    acrValues: [PASSWORD_ACR],
    scopes: ['openid', 'profile', 'email'],
    claims: {
      openid: ['sub', 'acr', 'amr', 'auth_time', 'roles', 'accounts'],
      profile: ['name', 'preferred_username'],
      email: ['email']
    },
    conformIdTokenClaims: false,
    clientBasedCORS: () => false,
    fetch: fetchFromLoopback,
    interactions: { url: (_context, { uid }) => `/sign-in/${uid}` },
    findAccount: (_context, sub) => accountOf(options.people, sub),
    loadExistingGrant,
    ttl: {
      AccessToken: TOKEN_LIFETIME_SECONDS,
      AuthorizationCode: 60,
      IdToken: (_context, _token, { clientAuthMethod }) =>
        clientAuthMethod === PUBLIC_CLIENT.token_endpoint_auth_method
          ? SESSION_LIFETIME_SECONDS
          : TOKEN_LIFETIME_SECONDS,
      DeviceCode: TOKEN_LIFETIME_SECONDS,
      Interaction: INTERACTION_LIFETIME_SECONDS,
      Session: SESSION_LIFETIME_SECONDS,
      Grant: SESSION_LIFETIME_SECONDS
    },
    features: features(options, url),
    renderError: (context, { error, error_description: description }) => {
      context.type = 'html'
      context.body = noticePage('That did not work', `${error}: ${description ?? 'no more is known'}`)
    }
  })
  // Errors that are nobody's fault but ours are answered in few words, and would be nowhere else.
  provider.on('server_error', (_context, error) => {
    process.stderr.write(`${inspect(error)}\n`)
  })
  return provider
}

function features({ authorizationDetailsTypes }: IssuerOptions, url: string): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
    // Access tokens with details must be for something: they are for the issuer itself.
    ...(authorizationDetailsTypes.length === 0
      ? {}
      : {
          resourceIndicators: {
            enabled: true,
            defaultResource: () => url,
            getResourceServerInfo: () => ({
              scope: '',
              accessTokenFormat: 'opaque' as const
            }),
            useGrantedResource: () => true
          }
        }),
    richAuthorizationRequests: {
      enabled: authorizationDetailsTypes.length > 0,
      types: Object.fromEntries(
        authorizationDetailsTypes.map((type) => [type, { validate: () => undefined }])
      ),
      // Nobody acts by its access tokens: what counts is that whoever signs in is asked with them.
      authorizationDetailsForGrantSource: () => undefined,
      authorizationDetailsForAccessToken: () => undefined
    },
    deviceFlow: {
      enabled: true,
      userCodeInputSource: (context, form, _out, error) => {
        context.body = deviceCodePage(form, error !== undefined)
      },
      userCodeConfirmSource: (context, form, client, _deviceInfo, code) => {
        context.body = deviceConfirmPage(form, client.clientId, code)
      },
      successSource: (context) => {
        context.body = noticePage('Signed in', 'You can close this window, and go on in the terminal.')
      }
    },
    rpInitiatedLogout: {
      logoutSource: (context, form) => {
        context.body = signOutPage(form)
      },
      postLogoutSuccessSource: (context) => {
        context.body = noticePage('Signed out', 'You can close this page.')
      }
    }
  }
}

/** Node knows this option of its `fetch`, browsers do not: types of both may be there. */
const OWN_DISPATCHER = { dispatcher: undefined }

/**
 * Tells clients that somebody has signed out. Where it can, the library refuses loopback by a dispatcher of its own; all of our
 * clients are there.
 */
const fetchFromLoopback: NonNullable<Configuration['fetch']> = (url, options) =>
  // eslint-disable-next-line no-restricted-properties -- because only URLs of the developer's own clients are fetched
  globalThis.fetch(url, { ...options, ...OWN_DISPATCHER })

/** Cookies ignore ports: issuers beside each other would overwrite each other's. */
function cookieNames(url: string): Record<'session' | 'interaction' | 'resume', string> {
  const { port } = new URL(url)
  return {
    session: `issuer_${port}_session`,
    interaction: `issuer_${port}_interaction`,
    resume: `issuer_${port}_resume`
  }
}

const accountOf = (
  people: readonly Person[],
  sub: string
): Awaited<ReturnType<NonNullable<Configuration['findAccount']>>> => {
  const person = people.find((candidate) => candidate.sub === sub)
  if (person === undefined) return undefined
  const { username, name, email, roles, accounts } = person
  return {
    accountId: sub,
    claims: () => ({
      sub,
      name,
      preferred_username: username,
      ...(email === undefined ? {} : { email }),
      ...(roles === undefined ? {} : { roles }),
      ...(accounts === undefined ? {} : { accounts })
    })
  }
}

/** The clients are the provider's own pages: nobody is asked whether they may know a name. */
const loadExistingGrant: NonNullable<Configuration['loadExistingGrant']> = async (context) => {
  const { client, session, provider } = context.oidc
  if (client === undefined || session?.accountId === undefined) return undefined
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope('openid profile email')
  await grant.save()
  return grant
}
