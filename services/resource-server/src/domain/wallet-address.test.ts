import { describe, expect, it } from '@jest/globals'
import { createResourceUrls } from './resource-urls.js'
import { findPathProblem } from './wallet-address.js'

describe('the path of a wallet address', () => {
  it.each([
    '/alice',
    '/shops/books/2',
    '/a-b_c.d~e',
    '/@alice',
    '/.well-known/pay',
    '/quotes-of-the-day',
    '/a/quotes'
  ])('may be %s', (path) => {
    expect(findPathProblem(path)).toBeUndefined()
  })

  it.each([
    '',
    '/',
    'alice',
    '/alice/',
    '//alice',
    '/a//b',
    '/a/../b',
    '/.',
    '/a b',
    '/a%20b',
    '/a?b',
    '/a#b',
    '/é',
    '/a\u0000',
    '/quotes',
    '/quotes/alice',
    '/incoming-payments',
    '/outgoing-payments/x',
    '/outgoing-payment-grant',
    '/.well-known',
    '/.well-known/pay/alice',
    '/healthz',
    '/readyz',
    '/jwks.json',
    '/alice/jwks.json',
    '/alice/did.json',
    `/${'a'.repeat(512)}`,
    '/1/2/3/4/5/6/7/8/9'
  ])('cannot be %j', (path) => {
    expect(findPathProblem(path)).toEqual(expect.any(String))
  })
})

describe('the URLs of a service', () => {
  const id = '01890a5d-ac96-774b-bcce-b302099a8057'

  it.each(['https://wallet.example', 'https://wallet.example/', 'https://wallet.example/pay'])(
    'below %s lead back to what they name',
    (publicUrl) => {
      const urls = createResourceUrls(publicUrl)
      expect(urls.idOf('quotes', urls.of('quotes', id))).toBe(id)
      expect(urls.walletAddressPathOf(urls.ofWalletAddress('/alice'))).toBe('/alice')
      expect(urls.walletAddressPathOf(urls.ofWalletAddress('/.well-known/pay'))).toBe('/.well-known/pay')
    }
  )

  it.each([
    `https://wallet.example/incoming-payments/${id}`,
    `https://wallet.example/quotes/${id}/`,
    `https://wallet.example/quotes/${id}?a=b`,
    `https://wallet.example/quotes/${id.toUpperCase()}`,
    `https://wallet.example/x/quotes/${id}`,
    `https://wallet.example:443/quotes/${id}`,
    `https://evil.example/quotes/${id}`,
    `http://wallet.example/quotes/${id}`,
    'https://wallet.example/quotes/',
    id
  ])('of quotes are not mistaken for %s', (url) => {
    expect(createResourceUrls('https://wallet.example').idOf('quotes', url)).toBeUndefined()
  })

  it.each(['https://wallet.example.evil.example/alice', 'https://evil.example/alice', 'alice', ''])(
    'of wallet addresses are not mistaken for %j',
    (url) => {
      expect(createResourceUrls('https://wallet.example').walletAddressPathOf(url)).toBeUndefined()
    }
  )

  it('of wallet addresses may be below another one', () => {
    const urls = createResourceUrls('https://b.wallet.example', 'https://wallet.example/')
    expect(urls.ofWalletAddress('/alice')).toBe('https://wallet.example/alice')
    expect(urls.ofWalletAddress('/.well-known/pay')).toBe('https://wallet.example')
    expect(urls.walletAddressPathOf('https://wallet.example/alice')).toBe('/alice')
    expect(urls.walletAddressPathOf('https://b.wallet.example/alice')).toBeUndefined()
    expect(urls.base).toBe('https://b.wallet.example')
    expect(urls.of('quotes', id)).toBe(`https://b.wallet.example/quotes/${id}`)
    expect(urls.leadsHere(`https://wallet.example/incoming-payments/${id}`)).toBe(false)
  })
})
