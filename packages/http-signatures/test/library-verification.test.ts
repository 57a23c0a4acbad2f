import { sign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { createVerifier, httpbis } from 'http-message-signatures'
import type { HttpRequestParts } from '../src/index.js'
import { accept, client, creation, nowSeconds, resultOf, reading, signed, withHeaders } from './fixtures.js'

/*
 * What `http-message-signatures` verifies differently, which is why verification has a signature base of its own: see
 * docs/decisions/own-signature-base.md. A test that fails here after an upgrade is a reason to look at that decision again.
 */

/** Whether the library verifies a request with the client's key; an error of its own counts as no. */
async function isVerifiedByLibrary({ method, targetUri, headers }: HttpRequestParts): Promise<boolean> {
  const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const verified = httpbis.verifyMessage(
    { keyLookup: () => Promise.resolve({ verify: createVerifier(client.publicKey, 'ed25519') }) },
    { method, url: targetUri, headers: fields }
  )
  return verified.then(
    (answer) => answer === true,
    () => false
  )
}

/** The request, signed over a base that is written out: its lines but for the last, and what they cover. */
function signedOver(
  request: HttpRequestParts,
  components: readonly string[],
  lines: readonly string[]
): HttpRequestParts {
  const covered = components.map((name) => `"${name}"`).join(' ')
  const input = `(${covered});keyid="${client.kid}";created=${String(nowSeconds)}`
  const base = [...lines, `"@signature-params": ${input}`].join('\n')
  const signature = sign(null, Buffer.from(base), client.privateKey).toString('base64')
  return withHeaders(request, { 'signature-input': `sig1=${input}`, signature: `sig1=:${signature}:` })
}

const token = String(reading.headers.authorization)
const bare: HttpRequestParts = { ...reading, headers: {} }

it('the library and this package verify what the client signed', async () => {
  for (const request of [signed(reading), signed(creation)]) {
    expect(resultOf(() => accept(request))).toBe('accepted')
    expect(await isVerifiedByLibrary(request)).toBe(true)
  }
})

describe('the library refuses a request whose target was signed as sent', () => {
  it.each([
    ['@request-target', 'an empty query', 'https://wallet.example/a?', '/a?'],
    ['@request-target', 'a path with dots', 'https://wallet.example/a/../b', '/a/../b'],
    ['@path', 'a path with dots', 'https://wallet.example/a/./b', '/a/./b'],
    ['@query', 'a quotation mark', `https://wallet.example/a?"`, '?"']
  ])('in %s, with %s', async (component, _what, targetUri, value) => {
    const request = signedOver(
      { ...bare, targetUri },
      ['@method', '@target-uri', component],
      ['"@method": GET', `"@target-uri": ${targetUri}`, `"${component}": ${value}`]
    )
    expect(resultOf(() => accept(request))).toBe('accepted')
    expect(await isVerifiedByLibrary(request)).toBe(false)
  })
})

describe('the library verifies', () => {
  const both = async (request: HttpRequestParts): Promise<{ library: boolean; here: string }> => ({
    library: await isVerifiedByLibrary(request),
    here: resultOf(() => accept(request))
  })

  it('a method in another case than was signed', async () => {
    expect(await both({ ...signed(reading), method: 'get' })).toEqual({ library: true, here: 'mismatch' })
  })

  it('a header surrounded by white space that RFC 9110 does not allow', async () => {
    const request = withHeaders(signed(reading), { authorization: `\u00a0${token}\ufeff` })
    expect(await both(request)).toEqual({ library: true, here: 'malformed' })
  })

  it('a component that is covered twice (RFC 9421 §2)', async () => {
    const { targetUri } = bare
    const request = signedOver(
      bare,
      ['@method', '@target-uri', '@method'],
      ['"@method": GET', `"@target-uri": ${targetUri}`, '"@method": GET']
    )
    expect(await both(request)).toEqual({ library: true, here: 'malformed' })
  })

  it('a request whose first signature is wrong, when the last one is right', async () => {
    const request = signed(reading)
    const wrong = withHeaders(request, {
      'signature-input': `sig0=("@method");keyid="${client.kid}", ${String(request.headers['signature-input'])}`,
      signature: `sig0=:AAAA:, ${String(request.headers.signature)}`
    })
    expect(await both(wrong)).toEqual({ library: true, here: 'several' })
  })

  it('a body that does not match its signed digest', async () => {
    const request = { ...signed(creation), body: Buffer.from('{"value":"999"}') }
    expect(await both(request)).toEqual({ library: true, here: 'digest' })
  })
})
