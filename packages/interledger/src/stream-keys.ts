import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto'
import type { Random } from '@open-payments-server/value-types/identifiers'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** What both ends of a STREAM connection derive from the secret that they share (IL-RFC 29 §5.1, §6). */
export interface StreamKeys {
  readonly encryption: Buffer
  readonly fulfillment: Buffer
}

/** @param sharedSecret as the receiver told it; 32 bytes, usually */
export function streamKeys(sharedSecret: Buffer): StreamKeys {
  return {
    encryption: hmac(sharedSecret, 'ilp_stream_encryption'),
    fulfillment: hmac(sharedSecret, 'ilp_stream_fulfillment')
  }
}

/** The fulfillment of the Prepare with this data: whoever knows it has the secret. */
export function fulfillmentOf(data: Buffer, { fulfillment }: StreamKeys): Buffer {
  return hmac(fulfillment, data)
}

/** The condition that a fulfillment fulfills. */
export function conditionOf(fulfillment: Buffer): Buffer {
  return hash('sha256', fulfillment, 'buffer')
}

/** HMAC-SHA256. */
export function hmac(key: Buffer, message: Buffer | string): Buffer {
  return createHmac('sha256', key).update(message).digest()
}

/**
 * Encrypts as STREAM does (IL-RFC 29 §5.1.1): initialization vector, authentication tag, ciphertext.
 *
 * @param key 32 bytes
 */
export function encrypt(plaintext: Buffer, key: Buffer, random: Random): Buffer {
  const iv = random.bytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv)
  const ciphertext = [cipher.update(plaintext), cipher.final()]
  return Buffer.concat([iv, cipher.getAuthTag(), ...ciphertext])
}

/** @returns undefined when these bytes were not encrypted with this key */
export function decrypt(encrypted: Buffer, key: Buffer): Buffer | undefined {
  // A shorter tag would be accepted, and is easier to guess.
  if (encrypted.length < IV_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, encrypted.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES
  }).setAuthTag(encrypted.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}
