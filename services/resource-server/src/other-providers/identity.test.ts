import { sign, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { importEd25519Jwk } from '@open-payments-server/http-signatures'
import { createTestKey } from '@open-payments-server/testing'
import { createClientIdentity } from './identity.js'

const WALLET_ADDRESS = 'https://here.example/.well-known/pay'

describe('the identity of this provider', () => {
  it('signs with its first key, and publishes all of them without what is private', async () => {
    const [first, second] = [createTestKey('first'), createTestKey('second')]
    const identity = createClientIdentity({ walletAddress: WALLET_ADDRESS, keys: [first, second] })
    expect(identity.walletAddress).toBe(WALLET_ADDRESS)
    expect(identity.publishedKeys).toEqual({ keys: [first.jwk, second.jwk] })
    expect(JSON.stringify(identity.publishedKeys)).not.toContain('"d"')
    const signature = sign(null, Buffer.from('text'), identity.signingKey.privateKey)
    const publicKey = await importEd25519Jwk(first.jwk)
    expect(identity.signingKey.keyId).toBe('first')
    expect(verify(null, Buffer.from('text'), publicKey, signature)).toBe(true)
  })

  it('has no two keys with one id', () => {
    const keys = [createTestKey('same'), createTestKey('same')] as const
    expect(() => createClientIdentity({ walletAddress: WALLET_ADDRESS, keys: [...keys] })).toThrow('same id')
  })
})
