import { describe, expect, it } from '@jest/globals'
import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { importJWK } from 'jose'
import { resultOf, rfcPrivateKey, rfcPublicKey } from '../test/fixtures.js'
import { type Ed25519Jwk, importEd25519Jwk, jwkThumbprint, parseEd25519Jwk, SignatureError } from './index.js'
import { exportEd25519Jwk } from './sign.js'

/** The key of RFC 8037 Appendix A.2, whose thumbprint is in A.3. */
const jwk: Ed25519Jwk = {
  kid: 'key-1',
  kty: 'OKP',
  crv: 'Ed25519',
  alg: 'EdDSA',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'
}

describe('a client key', () => {
  it('is read, and members that are not used are dropped', () => {
    expect(parseEd25519Jwk({ ...jwk, key_ops: ['verify'], x5u: 'https://evil.example' })).toEqual(jwk)
    expect(parseEd25519Jwk({ ...jwk, use: 'sig' })).toEqual({ ...jwk, use: 'sig' })
  })

  it('has the thumbprint of RFC 8037', async () => {
    expect(await jwkThumbprint(jwk)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
  })

  it('round-trips, from its public or private half', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const exported = exportEd25519Jwk(publicKey, 'k')
    expect(exportEd25519Jwk(privateKey, 'k')).toEqual(exported)
    const imported = await importEd25519Jwk(parseEd25519Jwk(JSON.parse(JSON.stringify(exported))))
    expect(imported.equals(publicKey)).toBe(true)
    expect(exportEd25519Jwk(rfcPrivateKey, 'rfc')).toEqual(exportEd25519Jwk(rfcPublicKey, 'rfc'))
    expect(exportEd25519Jwk(rfcPublicKey, 'rfc').x).toBe('JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs')
  })

  it('is never exported with its private key', () => {
    expect(exportEd25519Jwk(rfcPrivateKey, 'rfc')).not.toHaveProperty('d')
  })

  it.each([
    ['jwk', null],
    ['jwk', 'text'],
    ['jwk', [jwk]],
    ['d', { ...jwk, d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A' }],
    ['d', { ...jwk, d: undefined }],
    ['kid', { ...jwk, kid: undefined }],
    ['kid', { ...jwk, kid: '' }],
    ['kid', { ...jwk, kid: 5 }],
    ['kid', { ...jwk, kid: 'k'.repeat(257) }],
    ['kty', { ...jwk, kty: 'EC' }],
    ['crv', { ...jwk, crv: 'X25519' }],
    ['alg', { ...jwk, alg: 'none' }],
    ['alg', { ...jwk, alg: undefined }],
    ['use', { ...jwk, use: 'enc' }],
    ['key_ops', { ...jwk, key_ops: ['sign'] }],
    ['key_ops', { ...jwk, key_ops: [] }],
    ['key_ops', { ...jwk, key_ops: 'verify' }],
    ['key_ops', { ...jwk, key_ops: null }],
    ['x', { ...jwk, x: undefined }],
    ['x', { ...jwk, x: 5 }],
    ['x', { ...jwk, x: '' }],
    ['x', { ...jwk, x: `${jwk.x}=` }],
    ['x', { ...jwk, x: jwk.x.replace('_', '/') }],
    ['x', { ...jwk, x: `${jwk.x.slice(0, -1)}p` }], // bits after the 32nd byte
    ['x', { ...jwk, x: jwk.x.slice(1) }],
    ['x', { ...jwk, x: `${jwk.x}AAA` }],
    ['x', { ...jwk, x: ` ${jwk.x}` }],
    ['x', { ...jwk, x: `${jwk.x.slice(0, 20)}\n${jwk.x.slice(20)}` }]
  ])('with a wrong %s is refused by that name: %j', (field, value) => {
    expect(() => parseEd25519Jwk(value)).toThrow(
      expect.objectContaining({ reason: 'key', message: expect.stringMatching(new RegExp(`^${field} must`)) })
    )
  })

  it.each([
    '00'.repeat(32),
    `${'00'.repeat(31)}80`,
    `01${'00'.repeat(31)}`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    `ec${'ff'.repeat(31)}`
  ])('that is the point of small order %s is refused', async (hex) => {
    const x = Buffer.from(hex, 'hex').toString('base64url')
    expect(resultOf(() => parseEd25519Jwk({ ...jwk, x }))).toBe('key')
    // jose would import it.
    await expect(importJWK({ ...jwk, x })).resolves.toBeDefined()
    await expect(importEd25519Jwk({ x })).rejects.toMatchObject({ reason: 'key' })
  })

  it.each([
    ['padding', (x: string) => `${x}=`],
    ['bits after the 32nd byte', (x: string) => `${x.slice(0, -1)}p`],
    ['white space', (x: string) => ` ${x}`],
    ['a line break', (x: string) => `${x.slice(0, 20)}\n${x.slice(20)}`],
    ['the alphabet of plain base64', (x: string) => x.replaceAll('_', '/')]
  ])('with %s, which jose accepts, is not imported', async (_what, change) => {
    const x = change(jwk.x)
    await expect(importJWK({ ...jwk, x })).resolves.toBeDefined()
    await expect(importEd25519Jwk({ x })).rejects.toMatchObject({ reason: 'key' })
  })

  it.each(['', 'AA', jwk.x.slice(1), `${jwk.x}AAA`, '!'.repeat(43)])(
    'of another length or alphabet is not imported: %j',
    async (x) => {
      await expect(importEd25519Jwk({ x })).rejects.toMatchObject({ reason: 'key' })
    }
  )

  it('of another kind cannot be exported', () => {
    expect(resultOf(() => exportEd25519Jwk(generateKeyPairSync('x25519').publicKey, 'k'))).toBe('key')
  })

  it('of any shape is read or refused with its own error, never another', async () => {
    const member = fc.oneof(fc.jsonValue(), fc.constantFrom('OKP', 'Ed25519', 'EdDSA', jwk.x))
    const shape = fc.record(
      { kid: member, kty: member, crv: member, alg: member, x: member, use: member, key_ops: member },
      { requiredKeys: [] }
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.jsonValue(), shape), async (value) => {
        try {
          await importEd25519Jwk(parseEd25519Jwk(value))
        } catch (error) {
          expect(error).toBeInstanceOf(SignatureError)
        }
      })
    )
  })
})
