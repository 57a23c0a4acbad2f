import { describe, expect, it } from '@jest/globals'
import type { GrantedAccessItem, IssuedToken } from '../../domain/token-record.js'
import { ACCESS_ITEMS_KEPT_MAX, TokenCache } from './token-cache.js'

const item: GrantedAccessItem = { id: 'item', type: 'quote', actions: ['create'], interval: undefined }
const tokenOf = (grantId: string, items: readonly GrantedAccessItem[]): IssuedToken => ({
  expiresAtMs: 0,
  client: { walletAddress: undefined, jwkThumbprint: 'thumbprint', keyId: 'key', keyX: 'x' },
  access: { grantId, grantUpdatedAtMs: 0, items },
  afterPayments: undefined,
  consentedWalletAddress: undefined
})
const hashOf = (number: number): Buffer => Buffer.from(number.toString(16).padStart(64, '0'), 'hex')

describe('what is kept in memory of tokens', () => {
  it('is found by the hash of the token', () => {
    const cache = new TokenCache()
    cache.set(hashOf(1), tokenOf('one', [item]))
    expect(cache.get(hashOf(1))?.access.grantId).toBe('one')
    expect(cache.get(hashOf(2))).toBeUndefined()
  })

  it('is limited by the number of access items, and what was used least recently goes first', () => {
    const cache = new TokenCache()
    const tokens = ACCESS_ITEMS_KEPT_MAX / 10
    const items = Array.from({ length: 10 }, () => item)
    for (let number = 0; number < tokens; number += 1) {
      cache.set(hashOf(number), tokenOf(String(number), items))
    }
    expect(cache.get(hashOf(0))?.access.grantId).toBe('0')
    cache.set(hashOf(tokens), tokenOf('new', []))
    expect([0, 1, tokens].map((number) => cache.get(hashOf(number))?.access.grantId)).toEqual([
      '0',
      undefined,
      'new'
    ])
  })
})
