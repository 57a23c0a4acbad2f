import { describe, expect, it } from '@jest/globals'
import { ACCESS_ITEMS_KEPT_MAX, type GrantedAccessItem, TokenAccessCache } from './token-record.js'

const item: GrantedAccessItem = { id: 'item', type: 'quote', actions: ['create'], interval: undefined }
const hashOf = (number: number): Buffer => Buffer.from(number.toString(16).padStart(64, '0'), 'hex')

describe('what is kept in memory of tokens', () => {
  it('is found by the hash of the token', () => {
    const cache = new TokenAccessCache()
    cache.set(hashOf(1), { grantId: 'one', items: [item] })
    expect(cache.get(hashOf(1))?.grantId).toBe('one')
    expect(cache.get(hashOf(2))).toBeUndefined()
  })

  it('is limited by the number of access items, and what was used least recently goes first', () => {
    const cache = new TokenAccessCache()
    const tokens = ACCESS_ITEMS_KEPT_MAX / 10
    const items = Array.from({ length: 10 }, () => item)
    for (let number = 0; number < tokens; number += 1) {
      cache.set(hashOf(number), { grantId: String(number), items })
    }
    expect(cache.get(hashOf(0))?.grantId).toBe('0')
    cache.set(hashOf(tokens), { grantId: 'new', items: [] })
    expect([0, 1, tokens].map((number) => cache.get(hashOf(number))?.grantId)).toEqual([
      '0',
      undefined,
      'new'
    ])
  })
})
