import { describe, expect, it } from '@jest/globals'
import { createIssuer } from './issuer.js'

const ISSUER = 'https://login.wallet.test'
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/auth`,
  token_endpoint: `${ISSUER}/token`,
  jwks_uri: `${ISSUER}/jwks`
}

/** Where somebody signs in who consents to something, if the issuer says this about itself. */
async function signInUrl(metadata: object, detailsType: string | undefined, details: object[]): Promise<URL> {
  const issuer = createIssuer({
    issuer: ISSUER,
    clientId: 'pages',
    clientSecret: undefined,
    scope: 'openid',
    origin: 'https://pages.wallet.test',
    detailsType,
    allowHttp: false,
    fetch: () => Promise.resolve(Response.json({ ...METADATA, ...metadata })),
    clock: { now: () => 0 }
  })
  const request = { state: 'state', nonce: 'nonce', codeVerifier: 'verifier', parameters: {} }
  return new URL(await issuer.signInUrl({ ...request, details: details.map((detail) => ({ ...detail })) }))
}

describe('what somebody consents to', () => {
  const details = [{ actions: ['create'] }]
  const takes = { authorization_details_types_supported: ['other', 'payment_initiation'] }

  it('is told to an issuer that takes it', async () => {
    const url = await signInUrl(takes, 'payment_initiation', details)
    expect(JSON.parse(url.searchParams.get('authorization_details') ?? '')).toEqual([
      { type: 'payment_initiation', actions: ['create'] }
    ])
  })

  it.each<[string, object, string | undefined, object[]]>([
    ['an issuer that does not say so', {}, 'payment_initiation', details],
    [
      'one that takes other details',
      { authorization_details_types_supported: ['other'] },
      'payment_initiation',
      details
    ],
    ['one where nobody chose a type', takes, undefined, details],
    ['one where somebody only signs in', takes, 'payment_initiation', []]
  ])('is not told to %s', async (_what, metadata, type, told) => {
    expect((await signInUrl(metadata, type, told)).searchParams.has('authorization_details')).toBe(false)
  })
})
