import * as oidc from 'openid-client'
import { CommandError } from './command-error.js'
import type { IssuerClient } from './find-issuer.js'
import type { KeptSignIn } from './kept-sign-in.js'
import { listenForRedirect } from './loopback-redirect.js'

/** How long somebody may take to sign in, in milliseconds. */
const SIGN_IN_MS_MAX = 300_000
/** How long the issuer may take for an answer, in seconds. */
const ISSUER_SECONDS_MAX = 10

/** How somebody signs in. */
export interface SignInOptions extends IssuerClient {
  /** Scopes that are asked for, separated by spaces. */
  readonly scope: string
  /** Tells where to sign in. */
  readonly show: (url: string) => void
  /** Keeps who signed in, before anybody is told that they are. */
  readonly keep: (signedIn: SignedIn) => Promise<void>
}

/** Who signed in. */
export interface SignedIn extends KeptSignIn {
  /** `sub` of the ID token. */
  readonly sub: string
  /** What they are called; undefined when the issuer does not say. */
  readonly name: string | undefined
}

/**
 * Signs somebody in with a browser of this machine: authorization code with PKCE, sent back over loopback (RFC 8252).
 *
 * @throws CommandError when the issuer signs nobody in, or in time
 */
export async function signInByBrowser(options: SignInOptions): Promise<SignedIn> {
  const config = await discover(options)
  const [state, nonce, codeVerifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()]
  const redirect = await listenForRedirect(state)
  try {
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirect.redirectUri,
      scope: options.scope,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256'
    })
    options.show(url.href)
    const { url: returned, answer } = await inTime(redirect.returned)
    try {
      const tokens = await oidc.authorizationCodeGrant(config, returned, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true
      })
      const signedIn = signedInAs(tokens, options)
      await options.keep(signedIn)
      await answer(true)
      return signedIn
    } catch (error) {
      await answer(false)
      throw notSignedIn(options, error)
    }
  } finally {
    await redirect.close()
  }
}

/** What somebody is shown who signs in on another device. */
export interface DeviceSignIn {
  /** Where they sign in. */
  readonly url: string
  /** What they enter there. */
  readonly code: string
}

/**
 * Signs somebody in with a browser that is elsewhere: the device grant (RFC 8628).
 *
 * @throws CommandError when the issuer signs nobody in, or in time
 */
export async function signInByDevice(
  options: Omit<SignInOptions, 'show'> & { readonly show: (signIn: DeviceSignIn) => void }
): Promise<SignedIn> {
  const config = await discover(options)
  const stopped = new AbortController()
  try {
    const asked = await oidc.initiateDeviceAuthorization(config, { scope: options.scope })
    options.show({ url: asked.verification_uri, code: asked.user_code })
    const { signal } = stopped
    const tokens = await inTime(oidc.pollDeviceAuthorizationGrant(config, asked, undefined, { signal }))
    const signedIn = signedInAs(tokens, options)
    await options.keep(signedIn)
    return signedIn
  } catch (error) {
    throw notSignedIn(options, error)
  } finally {
    stopped.abort()
  }
}

async function discover({ issuer, clientId }: IssuerClient): Promise<oidc.Configuration> {
  const config = await ask(issuer, clientId)
  const { issuer: own } = config.serverMetadata()
  // What is kept is compared with `iss` of its token: letter by letter, as services do.
  if (own === issuer) return config
  throw new CommandError(`the issuer ${issuer} calls itself ${own}: give exactly that`, 'issuer')
}

async function ask(issuer: string, clientId: string): Promise<oidc.Configuration> {
  try {
    return await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), {
      timeout: ISSUER_SECONDS_MAX,
      // The signature is verified even though the token comes from the issuer itself.
      execute: [
        oidc.enableNonRepudiationChecks,
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- an issuer on http is on this machine: see find-issuer.ts
        ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [])
      ]
    })
  } catch (error) {
    throw new CommandError(`the issuer ${issuer} cannot be asked: ${reasonOf(error)}`, 'issuer')
  }
}

function signedInAs(
  tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  { issuer, clientId }: IssuerClient
): SignedIn {
  const { id_token: idToken } = tokens
  const claims = tokens.claims()
  if (idToken === undefined || claims === undefined) throw new Error('it sent no ID token')
  const { sub, name } = claims
  return { issuer, clientId, idToken, sub, name: typeof name === 'string' ? name : undefined }
}

async function inTime<Result>(awaited: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new CommandError(`nobody signed in within ${String(SIGN_IN_MS_MAX / 60_000)} minutes`))
    }, SIGN_IN_MS_MAX)
  })
  try {
    return await Promise.race([awaited, late])
  } finally {
    clearTimeout(timer)
  }
}

function notSignedIn({ issuer }: IssuerClient, error: unknown): CommandError {
  if (error instanceof CommandError) return error
  return new CommandError(`the issuer ${issuer} signed nobody in: ${reasonOf(error)}`)
}

/** An error that the issuer named is told by its name alone: whoever sent it chose the words that go with it. */
function reasonOf(error: unknown): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError)
    return /^[\w.-]{1,100}$/.test(error.error) ? error.error : 'it answered with an error'
  const messages: string[] = []
  for (let each = error; each instanceof Error; each = each.cause) messages.push(each.message)
  return messages.join(': ')
}
