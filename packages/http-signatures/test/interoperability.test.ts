import { createHeaders } from '@interledger/http-signature-utils'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createSigner, createVerifier, httpbis } from 'http-message-signatures'
import { contentDigest, type HttpRequestParts } from '../src/index.js'
import {
  accept,
  client,
  creation,
  nowMs,
  resultOf,
  reading,
  receive,
  signed,
  verified,
  withHeaders
} from './fixtures.js'

/** Header names in lower case, as Node.js hands them to a server. */
function lowerCased(headers: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])
  )
}

describe('requests signed by the Open Payments client library', () => {
  const policy = { ageMaxSeconds: 1e9, futureMaxSeconds: 1e9 } // the library signs with the present time

  it.each([
    ['with a token and a body', { authorization: 'GNAP token' }, '{"value":"100"}'],
    ['with a body alone', {}, '{"access_token":{"access":[]}}'],
    ['with a token alone', { authorization: 'GNAP token' }, undefined],
    ['with neither', {}, undefined]
  ])('%s are accepted, and refused once the address is changed', async (_what, given, body) => {
    const { method, targetUri } = body === undefined ? reading : creation
    const headers = await createHeaders({
      request: { method, url: targetUri, headers: { ...given }, ...(body === undefined ? {} : { body }) },
      privateKey: client.privateKey,
      keyId: client.kid
    })
    const request: HttpRequestParts = {
      method,
      targetUri,
      headers: { ...given, ...lowerCased({ ...headers }) },
      body: body === undefined ? undefined : Buffer.from(body)
    }
    expect(resultOf(() => accept(request, policy))).toBe('accepted')
    const moved = { ...request, targetUri: `${targetUri}0` }
    expect(resultOf(() => accept(moved, policy))).toBe('mismatch')
  })
})

describe('an independent implementation of RFC 9421', () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code))
  })
  const request: fc.Arbitrary<HttpRequestParts> = fc
    .record({
      method: fc.constantFrom('GET', 'POST', 'DELETE', 'PATCH'),
      path: fc.webPath(),
      query: fc.webQueryParameters(),
      authorization: fc.option(printable, { nil: undefined }),
      list: fc.array(printable, { minLength: 1, maxLength: 3 }),
      body: fc.option(fc.uint8Array({ minLength: 1 }), { nil: undefined })
    })
    .map(({ method, path, query, authorization, list, body }) => ({
      method,
      targetUri: `https://wallet.example${path === '' ? '/' : path}${query === '' ? '' : `?${query}`}`,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined ? {} : { 'content-digest': contentDigest(body) }),
        'x-list': list
      },
      body
    }))
  const label = fc.stringMatching(/^[a-z*][a-z0-9_.*-]{0,15}$/)

  function componentsOf({ headers }: HttpRequestParts): string[] {
    return ['@method', '@target-uri', '@authority', '@scheme', ...Object.keys(headers)]
  }

  it('signs requests that are accepted here', async () => {
    await fc.assert(
      fc.asyncProperty(request, label, printable, async (parts, name, nonce) => {
        fc.pre(nonce !== '' && nonce.length <= 256)
        const { headers } = await httpbis.signMessage(
          {
            key: createSigner(client.privateKey, 'ed25519', client.kid),
            name,
            params: ['created', 'keyid', 'alg', 'nonce', 'tag'],
            paramValues: { created: new Date(nowMs), nonce, tag: 'gnap' },
            fields: componentsOf(parts)
          },
          { method: parts.method, url: parts.targetUri, headers: parts.headers as Record<string, string> }
        )
        const received = receive(withHeaders(parts, { ...parts.headers, ...lowerCasedSignature(headers) }))
        expect(verified(received)).toMatchObject({ label: name, nonce, tag: 'gnap', keyId: client.kid })
      })
    )
  })

  it('verifies requests that are signed here', async () => {
    await fc.assert(
      fc.asyncProperty(request, label, async (parts, name) => {
        const createdSeconds = Math.floor(Date.now() / 1000)
        const { headers } = signed(parts, { label: name, createdSeconds, components: componentsOf(parts) })
        const isVerified = await httpbis.verifyMessage(
          { keyLookup: () => Promise.resolve({ verify: createVerifier(client.publicKey, 'ed25519') }) },
          { method: parts.method, url: parts.targetUri, headers: headers as Record<string, string> }
        )
        expect(isVerified).toBe(true)
      })
    )
  })

  function lowerCasedSignature(headers: Record<string, string | string[]>): Record<string, string> {
    return lowerCased({ signature: headers.Signature, 'signature-input': headers['Signature-Input'] })
  }
})
