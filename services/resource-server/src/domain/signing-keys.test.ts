import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { readSigningKeys } from './signing-keys.js'

const keyPair = () => generateKeyPairSync('ed25519')

/** A JWK Set as a text. */
const setOf = (...keys: unknown[]): string => JSON.stringify({ keys })

describe('signing keys', () => {
  it('are read from a JWK Set, with their ids', async () => {
    const [first, second] = [keyPair().privateKey, keyPair().privateKey]
    const text = setOf({ ...first.export({ format: 'jwk' }), kid: 'first' }, second.export({ format: 'jwk' }))
    const read = await readSigningKeys(text)
    expect(read.map(({ keyId }) => keyId)).toEqual(['first', expect.stringMatching(/^[\w-]{43}$/)])
    expect(read.map(({ privateKey }, index) => privateKey.equals(index === 0 ? first : second))).toEqual([
      true,
      true
    ])
  })

  const secret = keyPair().privateKey.export({ format: 'jwk' })
  it.each<[string, string, string]>([
    ['nothing', '', 'must be a JWK Set'],
    ['something else', 'SECRET', 'must be a JWK Set'],
    ['broken JSON', `{"keys":[{"d":"${String(secret.d)}`, 'must be a JWK Set'],
    ['a key that is in no set', JSON.stringify(secret), 'must be a JWK Set'],
    ['a set of texts', setOf('SECRET'), 'must be a JWK Set'],
    ['an empty set', setOf(), 'must contain a key'],
    ['a public key', setOf({ ...secret, d: undefined }), 'must be a private JWK'],
    ['a d that is too short', setOf({ ...secret, d: 'SECRET' }), 'must be a private JWK'],
    [
      'the public key of another',
      setOf({ ...secret, x: keyPair().publicKey.export({ format: 'jwk' }).x }),
      'the x'
    ],
    ['an empty id', setOf({ ...secret, kid: '' }), 'the kid'],
    ['an id that is too long', setOf({ ...secret, kid: 'k'.repeat(257) }), 'the kid'],
    [
      'a key of another kind',
      setOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })),
      'must be an Ed25519 key'
    ]
  ])('are not read from %s, and the error repeats nothing', async (_what, text, expected) => {
    const error = await readSigningKeys(text).then(
      () => undefined,
      (failure: unknown) => failure as Error
    )
    expect(error?.message).toContain(expected)
    expect(error?.cause).toBeUndefined()
    for (const part of ['SECRET', String(secret.d)]) expect(error?.stack).not.toContain(part)
  })
})
