import { randomUUID } from 'node:crypto'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { describe, expect, it } from '@jest/globals'
import type { ManagedToken } from '../../domain/token-record.js'
import { TOKEN_HOLDERS_CHARACTERS_MAX, TokenHolders } from './token-holders.js'

const managedBy = (walletAddress: string): ManagedToken => ({
  id: randomUUID(),
  secretHash: hashSecret(randomUUID()),
  holder: { walletAddress, jwkThumbprint: undefined, keyId: 'key', keyX: 'x'.repeat(43) }
})

describe('what is remembered of tokens', () => {
  it('is whose they are, until they are forgotten', () => {
    const tokens = new TokenHolders()
    const token = managedBy('https://shop.test')
    tokens.remember(token)
    expect(tokens.find(token.id)).toEqual(token)
    tokens.forget(token.id)
    expect(tokens.find(token.id)).toBeUndefined()
  })

  it('never grows beyond its limit, however many there are: those that were not used for longest go first', () => {
    const tokens = new TokenHolders()
    const [oldest, used] = [managedBy('https://shop.test'), managedBy('https://shop.test')]
    tokens.remember(oldest)
    tokens.remember(used)
    for (let count = 0; count < 30_000; count += 1) {
      tokens.remember(managedBy('https://shop.test'))
      if (count % 1_000 === 0) tokens.find(used.id)
    }
    expect(tokens.size).toBeGreaterThan(10_000)
    expect(tokens.size).toBeLessThan(13_000)
    expect(tokens.find(oldest.id)).toBeUndefined()
    expect(tokens.find(used.id)).toEqual(used)
  })

  it('holds one object for all tokens of a client, and never takes one client for another', () => {
    const tokens = new TokenHolders()
    const [one, another, other] = [
      managedBy('https://shop.test'),
      managedBy('https://shop.test'),
      managedBy('https://other.test')
    ]
    for (const token of [one, another, other]) tokens.remember(token)
    expect(tokens.find(another.id)?.holder).toBe(tokens.find(one.id)?.holder)
    for (const token of [one, another, other]) expect(tokens.find(token.id)).toEqual(token)
  })

  it('never holds more text than it may, however long the addresses of clients are', () => {
    const tokens = new TokenHolders()
    const walletAddress = `https://shop.test/${'x'.repeat(2_000)}`
    for (let count = 0; count < 5_000; count += 1) tokens.remember(managedBy(walletAddress))
    expect(tokens.size * walletAddress.length).toBeLessThan(TOKEN_HOLDERS_CHARACTERS_MAX)
  })
})
