import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Arrived, formOf, PlainBrowser } from '@open-payments-server/testing/browser'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import {
  type DevelopmentIssuer,
  type DevelopmentIssuerOptions,
  PASSWORD_ACR,
  startDevelopmentIssuer
} from '../src/index.js'

const PAGES = 'http://localhost:9'
const REDIRECT_URI = `${PAGES}/signed-in`
const CLIENT = {
  clientId: 'pages',
  clientSecret: 'a-secret-of-the-pages',
  redirectUris: [REDIRECT_URI],
  postLogoutRedirectUris: [`${PAGES}/signed-out`]
}
const ALICE = {
  username: 'alice',
  password: 'a password of alice',
  sub: 'alice-7f3a',
  name: 'Alice <b>A</b>'
}
const OPERATOR = {
  username: 'operator',
  password: 'a password of the operator',
  sub: 'operator-1',
  name: 'Olga',
  email: 'olga@wallet.example',
  roles: ['viewer', 'operator']
}

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function start(options: Partial<DevelopmentIssuerOptions> = {}): Promise<DevelopmentIssuer> {
  const issuer = await startDevelopmentIssuer({ people: [ALICE, OPERATOR], clients: [CLIENT], ...options })
  undo.push(() => issuer.close())
  return issuer
}

/** The pages, as `openid-client` is used by default. */
async function discover({ url }: DevelopmentIssuer): Promise<oidc.Configuration> {
  return oidc.discovery(
    new URL(url),
    CLIENT.clientId,
    undefined,
    oidc.ClientSecretBasic(CLIENT.clientSecret),
    {
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- the issuer is on http, for development alone
      execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks]
    }
  )
}

interface Flow {
  readonly browser: PlainBrowser
  readonly config: oidc.Configuration
  readonly arrived: Arrived
  /** Exchanges the code that the browser came back with. */
  finish(arrived: Arrived): Promise<oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers>
}

async function authorize(
  issuer: DevelopmentIssuer,
  browser = new PlainBrowser([issuer.url]),
  parameters: Readonly<Record<string, string>> = {}
): Promise<Flow> {
  const config = await discover(issuer)
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  const nonce = oidc.randomNonce()
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid profile email',
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...parameters
  })
  return {
    browser,
    config,
    arrived: await browser.open(url.href),
    finish: ({ url }) =>
      oidc.authorizationCodeGrant(config, new URL(url), {
        pkceCodeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true
      })
  }
}

/** Sends the form of the sign-in page. */
async function signIn(
  { browser, arrived }: Pick<Flow, 'browser' | 'arrived'>,
  { username, password }: { username: string; password: string }
): Promise<Arrived> {
  expect(arrived.text).toContain('name="username"')
  expect(arrived.text).toContain('name="password"')
  return browser.open(arrived.url, { username, password })
}

async function idTokenOf(issuer: DevelopmentIssuer, person = ALICE): Promise<string> {
  const flow = await authorize(issuer)
  const { id_token: idToken } = await flow.finish(await signIn(flow, person))
  return idToken ?? ''
}

describe('signing in', () => {
  it('ends with an ID token that says who signed in, when and how', async () => {
    const issuer = await start()
    const flow = await authorize(issuer)
    const tokens = await flow.finish(await signIn(flow, ALICE))
    expect(tokens.claims()).toMatchObject({
      iss: issuer.url,
      aud: 'pages',
      sub: 'alice-7f3a',
      name: 'Alice <b>A</b>',
      preferred_username: 'alice',
      acr: PASSWORD_ACR,
      amr: ['pwd'],
      auth_time: expect.any(Number)
    })
    expect(tokens.claims()).not.toHaveProperty('roles')
    expect(decodeProtectedHeader(tokens.id_token ?? '')).toMatchObject({ alg: 'ES256' })
  })

  it('tells the roles of an operator', async () => {
    const issuer = await start()
    const claims = decodeJwt(await idTokenOf(issuer, OPERATOR))
    expect(claims).toMatchObject({ roles: ['viewer', 'operator'], email: 'olga@wallet.example' })
  })

  it.each([
    ['a wrong password', { ...ALICE, password: OPERATOR.password }],
    ['nobody of that name', { username: '<script>"&', password: 'any' }]
  ])('says the same of %s, and lets one try again', async (_case, wrong) => {
    const flow = await authorize(await start())
    const refused = await signIn(flow, wrong)
    expect([refused.status, refused.url]).toEqual([401, flow.arrived.url])
    expect(refused.text).toContain('Wrong name or password.')
    expect(refused.text).not.toContain('<script>')
    expect((await signIn({ ...flow, arrived: refused }, ALICE)).url).toMatch(/signed-in\?code=/)
  })

  it('takes a button for a password only where that is offered', async () => {
    const buttons = /<button[^>]* name="person" value="([^"]*)">([^<]*)/g
    const offering = await authorize(await start({ withoutPassword: true }))
    expect([...offering.arrived.text.matchAll(buttons)].map(([, ...button]) => button)).toEqual([
      ['alice', 'Alice &lt;b&gt;A&lt;/b&gt;'],
      ['operator', 'Olga']
    ])
    const press = (flow: Flow, person: string): Promise<Arrived> =>
      flow.browser.open(flow.arrived.url, { person })
    expect(await press(offering, 'nobody')).toMatchObject({ status: 401, url: offering.arrived.url })
    const claims = (await offering.finish(await press(offering, 'operator'))).claims()
    expect(claims).toMatchObject({ sub: 'operator-1', roles: OPERATOR.roles })
    expect(claims).not.toHaveProperty('acr')
    expect(claims).not.toHaveProperty('amr')

    const strict = await authorize(await start())
    expect(strict.arrived.text).not.toContain('name="person"')
    expect(await press(strict, 'alice')).toMatchObject({ status: 401, url: strict.arrived.url })
  })

  it('lets no other browser finish what one began', async () => {
    const issuer = await start()
    const { arrived } = await authorize(issuer)
    const { status, url } = await new PlainBrowser([issuer.url]).open(arrived.url, ALICE)
    expect([status, url]).toEqual([400, arrived.url])
  })

  it('is a page that nothing can be put into, and no other page can frame', async () => {
    const { arrived } = await authorize(await start())
    expect(arrived.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https: http:"
    )
    expect(arrived.text).not.toMatch(/<script|style=/)
  })
})

describe('a program of the person', () => {
  const program = { clientId: 'program', redirectUris: ['http://127.0.0.1/signed-in'] }
  const authorizeAt = async (issuer: DevelopmentIssuer, redirectUri: string) => {
    const config = await oidc.discovery(new URL(issuer.url), program.clientId, undefined, oidc.None(), {
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- the issuer is on http, for development alone
      execute: [oidc.allowInsecureRequests]
    })
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid profile',
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256'
    })
    const browser = new PlainBrowser([issuer.url])
    return { config, browser, arrived: await browser.open(url.href), pkceCodeVerifier }
  }

  it('signs in without a secret, at any port of loopback, for as long as the session', async () => {
    const issuer = await start({ clients: [program] })
    const flow = await authorizeAt(issuer, 'http://127.0.0.1:4711/signed-in')
    const back = new URL((await signIn(flow, OPERATOR)).url)
    expect(back.host).toBe('127.0.0.1:4711')
    const { pkceCodeVerifier } = flow
    const tokens = await oidc.authorizationCodeGrant(flow.config, back, { pkceCodeVerifier })
    const { exp = 0, iat = 0, ...claims } = tokens.claims() ?? {}
    expect(claims).toMatchObject({ aud: 'program', sub: 'operator-1', roles: OPERATOR.roles })
    expect(exp - iat).toBe(28_800)
  })

  it.each(['http://127.0.0.1:4711/other', 'http://evil.example/signed-in', 'https://127.0.0.1/signed-in'])(
    'is not sent to %s',
    async (redirectUri) => {
      const { arrived } = await authorizeAt(await start({ clients: [program] }), redirectUri)
      expect([arrived.status, arrived.text]).toEqual([400, expect.stringContaining('invalid_redirect_uri')])
    }
  )
})

describe('a session', () => {
  it('signs in silently, and again by password where the client asks for it', async () => {
    const issuer = await start()
    const first = await authorize(issuer)
    const { browser } = first
    await signIn(first, ALICE)
    const silent = await authorize(issuer, browser, { prompt: 'none' })
    expect((await silent.finish(silent.arrived)).claims()).toMatchObject({
      sub: 'alice-7f3a',
      acr: PASSWORD_ACR
    })
    const fresh: Readonly<Record<string, string>>[] = [{ prompt: 'login' }, { max_age: '0' }]
    for (const parameters of fresh) {
      const again = await authorize(issuer, browser, parameters)
      const tokens = await again.finish(await signIn(again, ALICE))
      expect(tokens.claims()?.sub).toBe('alice-7f3a')
    }
  })

  it('is not there at first', async () => {
    const { arrived } = await authorize(await start(), undefined, { prompt: 'none' })
    expect(new URL(arrived.url).searchParams.get('error')).toBe('login_required')
  })

  it('ends when somebody else signs in, with scripts at once, and without them by a button', async () => {
    const issuer = await start()
    const first = await authorize(issuer)
    await signIn(first, ALICE)
    const second = await authorize(issuer, first.browser, { prompt: 'login' })
    const asked = await signIn(second, OPERATOR)
    const [, script = ''] = /<script>([^]*?)<\/script>/.exec(asked.text) ?? []
    const hash = createHash('sha256').update(script).digest('base64')
    expect(asked.headers.get('content-security-policy')).toContain(`'sha256-${hash}'`)
    const { action, fields } = formOf(asked)
    const tokens = await second.finish(await second.browser.open(action, fields))
    expect(tokens.claims()?.sub).toBe('operator-1')
  })

  it('is where it is told to be, and says so', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    taken.close()
    await once(taken, 'close')
    const url = `http://127.0.0.1:${String(port)}`
    const issuer = await start({ host: '127.0.0.1', port, url })
    expect(issuer.url).toBe(url)
    const { authorization_endpoint: endpoint, issuer: iss } = (await discover(issuer)).serverMetadata()
    expect({ iss, origin: new URL(endpoint ?? '').origin }).toEqual({ iss: url, origin: url })
    const flow = await authorize(issuer)
    const tokens = await flow.finish(await signIn(flow, ALICE))
    expect(tokens.claims()).toMatchObject({ iss: url, sub: 'alice-7f3a' })
  })

  it('asks nobody for consent, even if the client wants that', async () => {
    const issuer = await start()
    const flow = await authorize(issuer, undefined, { prompt: 'consent' })
    const tokens = await flow.finish(await signIn(flow, ALICE))
    expect(tokens.claims()?.sub).toBe('alice-7f3a')
  })

  it('ends with signing out, which the clients are told', async () => {
    const told: string[] = []
    const client = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => told.push(text))
      request.on('end', () => response.end())
    }).listen(0, 'localhost')
    await once(client, 'listening')
    undo.push(async () => {
      client.close()
      await once(client, 'close')
    })
    const { port } = client.address() as AddressInfo
    const backchannelLogoutUri = `http://localhost:${String(port)}/back-channel-logout`
    const issuer = await start({ clients: [{ ...CLIENT, backchannelLogoutUri }] })
    const flow = await authorize(issuer)
    const { browser, config } = flow
    await flow.finish(await signIn(flow, ALICE))

    const url = oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: `${PAGES}/signed-out` })
    const asked = await browser.open(url.href)
    const [, action = ''] = /action="([^"]+)"/.exec(asked.text) ?? []
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(asked.text) ?? []
    expect((await browser.open(action, { xsrf, logout: 'yes' })).url).toBe(`${PAGES}/signed-out`)
    const [logoutToken = ''] = told.map((text) => new URLSearchParams(text).get('logout_token') ?? '')
    expect(decodeJwt(logoutToken)).toMatchObject({ iss: issuer.url, aud: 'pages', sub: 'alice-7f3a' })
    const { arrived } = await authorize(issuer, browser, { prompt: 'none' })
    expect(new URL(arrived.url).searchParams.get('error')).toBe('login_required')
  })
})

describe('what it refuses', () => {
  it('takes no authorization without PKCE', async () => {
    const issuer = await start()
    const config = await discover(issuer)
    const url = oidc.buildAuthorizationUrl(config, { redirect_uri: REDIRECT_URI, scope: 'openid' })
    const { searchParams } = new URL((await new PlainBrowser([issuer.url]).open(url.href)).url)
    expect(searchParams.get('error_description')).toMatch(/PKCE/)
  })

  it('sends nobody to a URI that is not the client’s', async () => {
    const { arrived } = await authorize(await start(), undefined, { redirect_uri: 'https://evil.example/' })
    expect([arrived.status, new URL(arrived.url).pathname]).toEqual([400, '/auth'])
    expect(arrived.text).toContain('invalid_redirect_uri')
  })

  it.each([
    [{ people: [ALICE, { ...OPERATOR, sub: ALICE.sub }] }, /sub must differ/],
    [{ people: [{ ...ALICE, sub: 'with space' }] }, /people/],
    [{ clients: [{ ...CLIENT, redirectUris: [] }] }, /redirectUris/]
  ])('does not start with options that are wrong', async (options, problem) => {
    await expect(start(options)).rejects.toThrow(problem)
  })
})

describe('keys', () => {
  it('are kept in a folder, so that ID tokens verify after a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'issuer-'))
    undo.push(() => rm(folder, { recursive: true }))
    const before = await startDevelopmentIssuer({ people: [ALICE], clients: [CLIENT], folder })
    const idToken = await idTokenOf(before)
    await before.close()
    const [file = '', ...others] = await readdir(folder)
    expect(others).toEqual([])
    expect((await stat(join(folder, file))).mode & 0o077).toBe(0)

    const port = Number(new URL(before.url).port)
    const { url } = await start({ folder, port })
    await expect(verify(url, idToken)).resolves.toBe('alice-7f3a')
  })

  it('rotate: the one before still verifies, the one before that no more', async () => {
    const issuer = await start()
    const idToken = await idTokenOf(issuer)
    await issuer.rotateKeys()
    const after = await idTokenOf(issuer)
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(idToken).kid)
    await expect(verify(issuer.url, idToken)).resolves.toBe('alice-7f3a')
    await issuer.rotateKeys()
    await expect(verify(issuer.url, after)).resolves.toBe('alice-7f3a')
    await expect(verify(issuer.url, idToken)).rejects.toThrow('no applicable key')
  })
})

/** Verifies an ID token with the keys that are published now. */
async function verify(issuer: string, idToken: string): Promise<string | undefined> {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
  return (await jwtVerify(idToken, keys, { issuer, audience: 'pages' })).payload.sub
}
