import { describe, expect, it } from '@jest/globals'
import { finishHash, interactionCookie, isInteractionCookie } from './interactions.js'

describe('the finish hash', () => {
  // The example of RFC 9635 §4.2.3.
  const finish = { uri: 'https://client.example/', nonce: 'VJLO6A4CATR0KRO', hashMethod: 'sha-256' }
  const interaction = { nonce: 'MBDOFXG4Y5CVJCX821LH', reference: '4IFWWIKYB2PQ6U56NL1' }
  const endpoint = 'https://server.example.com/tx'

  it('is the one RFC 9635 gives as its example, when the client asks for a hash method', () => {
    expect(finishHash(finish, interaction, endpoint)).toBe('x-gguKWTj8rQf7d7i3w3UhzvuJ5bpOlKyAlVpLxBffY')
  })

  it('is the same in padded standard base64, when it asks for none', () => {
    const hash = finishHash({ ...finish, hashMethod: undefined }, interaction, endpoint)
    expect(hash).toBe('x+gguKWTj8rQf7d7i3w3UhzvuJ5bpOlKyAlVpLxBffY=')
  })
})

describe('the cookie of an interaction', () => {
  const secret = 'the-secret-of-the-cookie'
  const interaction = { id: '0190a8b1-0000-7000-8000-000000000001', nonce: 'nonce' }

  it('is recognised for its own interaction alone', () => {
    const cookie = interactionCookie(secret, interaction)
    expect(isInteractionCookie(cookie, secret, interaction)).toBe(true)
    expect(isInteractionCookie(cookie, 'another-secret', interaction)).toBe(false)
    expect(isInteractionCookie(cookie, secret, { ...interaction, nonce: 'other' })).toBe(false)
    expect(isInteractionCookie(`${cookie}=`, secret, interaction)).toBe(false)
    expect(isInteractionCookie(undefined, secret, interaction)).toBe(false)
  })
})
