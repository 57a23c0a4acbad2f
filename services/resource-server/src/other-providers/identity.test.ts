import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { importEd25519Jwk } from '@open-payments-server/http-signatures'
import { createTestKey } from '@open-payments-server/testing'
import { createClientIdentity, readSigningKey } from './identity.js'

const PEM = { type: 'pkcs8', format: 'pem' } as const
const WALLET_ADDRESS = 'https://here.example/.well-known/pay'

const keyPair = () => generateKeyPairSync('ed25519')

describe('a signing key', () => {
  it('is read from a JWK, with its id', async () => {
    const { privateKey } = keyPair()
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'first' }
    const read = await readSigningKey(JSON.stringify(jwk))
    expect(read.keyId).toBe('first')
    expect(read.privateKey.equals(privateKey)).toBe(true)
  })

  it('is read from PEM, and has the same id however it is written', async () => {
    const { privateKey } = keyPair()
    const fromPem = await readSigningKey(privateKey.export(PEM).toString())
    const fromJwk = await readSigningKey(JSON.stringify(privateKey.export({ format: 'jwk' })))
    expect(fromPem.privateKey.equals(privateKey)).toBe(true)
    expect(fromPem.keyId).toMatch(/^[\w-]{43}$/)
    expect(fromJwk.keyId).toBe(fromPem.keyId)
  })

  const secret = keyPair().privateKey.export({ format: 'jwk' })
  it.each<[string, string, string]>([
    ['nothing', '', 'must be a private key'],
    ['something else', 'SECRET', 'must be a private key'],
    ['broken JSON', `{"d":"${String(secret.d)}`, 'begins like JSON'],
    ['a public key', JSON.stringify({ ...secret, d: undefined }), 'must be a private key'],
    ['a d that is too short', JSON.stringify({ ...secret, d: 'SECRET' }), 'must be a private key'],
    [
      'the public key of another',
      JSON.stringify({ ...secret, x: keyPair().publicKey.export({ format: 'jwk' }).x }),
      'the x'
    ],
    ['an empty id', JSON.stringify({ ...secret, kid: '' }), 'the kid'],
    ['an id that is too long', JSON.stringify({ ...secret, kid: 'k'.repeat(257) }), 'the kid'],
    [
      'a key of another kind',
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(PEM).toString(),
      'must be an Ed25519 key'
    ],
    [
      'an encrypted key',
      keyPair()
        .privateKey.export({ ...PEM, cipher: 'aes-256-cbc', passphrase: 'SECRET' })
        .toString(),
      'must be a private key'
    ]
  ])('is not read from %s, and the error repeats nothing', async (_what, text, expected) => {
    const error = await readSigningKey(text).then(
      () => undefined,
      (failure: unknown) => failure as Error
    )
    expect(error?.message).toContain(expected)
    expect(error?.cause).toBeUndefined()
    for (const part of ['SECRET', String(secret.d)]) expect(error?.stack).not.toContain(part)
  })
})

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
