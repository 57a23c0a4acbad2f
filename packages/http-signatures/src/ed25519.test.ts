import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { chooseLibrary, ED25519_LIBRARY, libsodium, openSsl } from './ed25519.js'
import { importEd25519Jwk } from './ed25519-jwk.js'

/** The order of the group, little-endian (RFC 8032 §5.1): added to the second half of a signature, it fits the same equation. */
const GROUP_ORDER = (1n << 252n) + 27_742_317_777_372_353_535_851_937_790_883_648_493n

const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const keyOf = (x: string): Promise<KeyObject> => importEd25519Jwk({ x: hex(x).toString('base64url') })

/** RFC 8032 §7.1, tests 1 to 3. */
const vectors = [
  {
    publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b'
  },
  {
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00'
  },
  {
    publicKey: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    message: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a'
  }
]

describe.each([openSsl(), libsodium()])('signatures verified by $name', ({ verify }) => {
  it.each(vectors)('are those of RFC 8032 ($message)', async ({ publicKey, message, signature }) => {
    const key = await keyOf(publicKey)
    expect(verify(hex(message), hex(signature), key)).toBe(true)
    expect(verify(hex(`${message}00`), hex(signature), key)).toBe(false)
  })

  it('fail with any byte changed, or another key', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const message = Buffer.from('pay 5 USD')
    const signature = sign(null, message, privateKey)
    for (let at = 0; at < signature.length; at += 1) {
      const changed = Buffer.from(signature)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      expect(verify(message, changed, publicKey)).toBe(false)
    }
    expect(verify(message, signature, generateKeyPairSync('ed25519').publicKey)).toBe(false)
    expect(verify(message, signature, publicKey)).toBe(true)
  })

  it('have one encoding: S plus the group order is refused (RFC 8032 §5.1.7)', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const message = Buffer.from('once')
    const signature = sign(null, message, privateKey)
    const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`)
    const moved = hex((scalar + GROUP_ORDER).toString(16).padStart(64, '0')).reverse()
    expect(verify(message, Buffer.concat([signature.subarray(0, 32), moved]), publicKey)).toBe(false)
  })

  it('have 64 bytes', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const message = Buffer.from('long')
    const signature = sign(null, message, privateKey)
    for (const wrong of [
      Buffer.alloc(0),
      signature.subarray(0, 63),
      Buffer.concat([signature, Buffer.of(0)])
    ])
      expect(verify(message, wrong, publicKey)).toBe(false)
  })

  it('may lie within larger buffers', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const message = Buffer.from('in the middle')
    const around = Buffer.concat([Buffer.alloc(7), message, sign(null, message, privateKey), Buffer.alloc(9)])
    const end = 7 + message.length
    expect(verify(around.subarray(7, end), around.subarray(end, end + 64), publicKey)).toBe(true)
  })
})

it('both libraries agree on any signature', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const anything = fc.record({
    message: fc.uint8Array({ maxLength: 300 }),
    garbage: fc.option(fc.uint8Array({ minLength: 60, maxLength: 66 })),
    change: fc.option(fc.record({ at: fc.nat(63), by: fc.integer({ min: 1, max: 255 }) }))
  })
  fc.assert(
    fc.property(anything, ({ message, garbage, change }) => {
      const signature = garbage ?? new Uint8Array(sign(null, message, privateKey))
      if (change !== null && change.at < signature.length) signature[change.at]! ^= change.by
      const isSound = openSsl().verify(message, signature, publicKey)
      expect(libsodium().verify(message, signature, publicKey)).toBe(isSound)
      expect(isSound).toBe(garbage === null && change === null)
    })
  )
})

describe('the library of a process', () => {
  it('is libsodium where available', () => {
    expect(ED25519_LIBRARY.name).toBe('libsodium')
    expect(chooseLibrary(false)).toEqual({ name: 'libsodium', verify: expect.any(Function) })
  })

  it('is OpenSSL otherwise, with the reason', () => {
    const none = () => {
      throw new Error('no build for this C library')
    }
    expect(chooseLibrary(false, none)).toMatchObject({
      name: 'OpenSSL',
      reason: 'no build for this C library'
    })
  })

  it('is OpenSSL in FIPS mode', () => {
    expect(chooseLibrary(true)).toMatchObject({ name: 'OpenSSL', reason: 'FIPS mode is on' })
  })
})
