import { describe, expect, it } from '@jest/globals'
import {
  createAddresses,
  isLoopback,
  isSameEndpoint,
  normalizeWalletAddress,
  parseHttpUrl,
  withQuery
} from './urls.js'

describe('the addresses clients are told', () => {
  it.each(['https://wallet.test/auth', 'https://wallet.test/auth/'])('lie below %s', (publicUrl) => {
    const addresses = createAddresses(publicUrl)
    expect(addresses.grantEndpoint).toBe(publicUrl)
    expect(addresses.continueUri('1')).toBe('https://wallet.test/auth/continue/1')
    expect(addresses.manageUri('1')).toBe('https://wallet.test/auth/token/1')
    expect(addresses.interactUri('1', '2')).toBe('https://wallet.test/auth/interact/1/2')
    expect(addresses.interactPath('1')).toBe('/auth/interact/1')
  })
})

describe('a wallet address', () => {
  it.each([
    ['https://wallet.test/shop', 'https://wallet.test/shop'],
    ['https://wallet.test/shop/', 'https://wallet.test/shop'],
    ['https://WALLET.test:443/shop', 'https://wallet.test/shop'],
    ['https://wallet.test', 'https://wallet.test'],
    ['https://wallet.test/?', undefined],
    ['https://wallet.test/#', undefined],
    ['https://wallet.test/shop?a=b', undefined],
    ['https://me@wallet.test/shop', undefined],
    ['file:///etc/passwd', undefined],
    ['shop', undefined],
    ['https://wallet.test./shop', undefined],
    ['https://wallet.test.:443/shop', undefined],
    ['https://wallet.test%2E/shop', undefined],
    [`https://wallet.test/${'{'.repeat(2_000)}`, undefined]
  ])('%s is known as %s', (text, expected) => {
    expect(normalizeWalletAddress(text)).toBe(expected)
  })
})

describe('a URL in a request', () => {
  it.each([
    ' https://a.test',
    'https://a.test/\n',
    'https://a.test/ä',
    '//a.test',
    'javascript:1',
    `https://a.test/${'a'.repeat(2048)}`
  ])('%j is none', (text) => {
    expect(parseHttpUrl(text)).toBeUndefined()
  })

  it.each([
    ['http://localhost:8080/', true],
    ['http://127.0.0.1/', true],
    ['http://[::1]/', true],
    ['http://127.0.0.1.example.com/', false],
    ['http://localhost.example.com/', false]
  ])('%s is on the own machine: %p', (text, expected) => {
    expect(isLoopback(new URL(text))).toBe(expected)
  })

  it('names the same endpoint with and without a final slash', () => {
    expect(isSameEndpoint('https://a.test/', 'https://a.test')).toBe(true)
    expect(isSameEndpoint('https://a.test/auth/', 'https://a.test/auth')).toBe(true)
    expect(isSameEndpoint('https://a.test/auth', 'https://a.test')).toBe(false)
    expect(isSameEndpoint('nonsense', 'nonsense')).toBe(false)
  })

  it('keeps its query when more is added, and escapes what base64 has', () => {
    expect(withQuery('https://a.test/?a=b', { hash: 'x+/=' })).toBe('https://a.test/?a=b&hash=x%2B%2F%3D')
  })

  it.each([
    ['https://a.test/', 'https://a.test/?n=1'],
    ['https://a.test/?', 'https://a.test/?n=1'],
    ['https://a.test/?a&', 'https://a.test/?a&n=1'],
    ['https://a.test/?a?', 'https://a.test/?a?&n=1'],
    ['https://a.test/??', 'https://a.test/??&n=1'],
    ['https://a.test/?a#b?', 'https://a.test/?a&n=1#b?']
  ])('%s gets a parameter of its own: %s', (url, expected) => {
    expect(withQuery(url, { n: '1' })).toBe(expected)
    expect(new URL(expected).searchParams.get('n')).toBe('1')
  })
})
