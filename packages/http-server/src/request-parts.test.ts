import { describe, expect, it } from '@jest/globals'
import { targetUri } from './request-parts.js'

describe('the target URI of a request', () => {
  it.each([
    ['https://auth.example', '/', 'https://auth.example/'],
    ['https://auth.example/', '/', 'https://auth.example/'],
    ['https://auth.example/', '/?a=b', 'https://auth.example/?a=b'],
    ['https://auth.example/', '/continue/1?a=%20', 'https://auth.example/continue/1?a=%20'],
    ['https://auth.example', '/continue/1', 'https://auth.example/continue/1'],
    ['https://wallet.example/auth', '/', 'https://wallet.example/auth'],
    ['https://wallet.example/auth/', '/', 'https://wallet.example/auth/'],
    ['https://wallet.example/auth', '/token/1', 'https://wallet.example/auth/token/1'],
    ['https://wallet.example/auth/', '/token/1', 'https://wallet.example/auth/token/1'],
    ['https://auth.example:443', '/', 'https://auth.example/']
  ])('is, under %s for %s, %s', (publicUrl, pathAndQuery, expected) => {
    expect(targetUri(publicUrl, pathAndQuery)).toBe(expected)
  })
})
