import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { describe, expect, it } from '@jest/globals'
import { finishHash, isBoundTo, mayFinish } from './interactions.js'

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

describe('an interaction', () => {
  const browserHash = hashSecret('cookie')
  const finishCodeHash = hashSecret('code')
  const browserOf = (cookie?: string, finishCode?: string) => ({ cookie, finishCode })

  it('is bound to the browser with the cookie whose hash it keeps, and to none before it was opened', () => {
    expect(isBoundTo({ browserHash }, 'cookie')).toBe(true)
    expect(isBoundTo({ browserHash }, 'cookie2')).toBe(false)
    expect(isBoundTo({ browserHash }, '')).toBe(false)
    expect(isBoundTo({ browserHash }, undefined)).toBe(false)
    expect(isBoundTo({ browserHash: undefined }, 'cookie')).toBe(false)
  })

  it.each([
    ['the cookie', browserOf('cookie'), true, false],
    ['the cookie and the code', browserOf('cookie', 'code'), true, true],
    ['the cookie and another code', browserOf('cookie', 'other'), true, false],
    ['the cookie and an empty code', browserOf('cookie', ''), true, false],
    ['the code without the cookie', browserOf(undefined, 'code'), false, false],
    ['nothing', browserOf(), false, false]
  ])(
    'may be finished with %s: %p; after an approval with a code: %p',
    (_presented, browser, without, withCode) => {
      expect([
        mayFinish({ browserHash, finishCodeHash: undefined }, browser),
        mayFinish({ browserHash, finishCodeHash }, browser)
      ]).toEqual([without, withCode])
    }
  )
})
