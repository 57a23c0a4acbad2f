import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'
import { isIlpAddress } from './packet.js'
import { hmac, type StreamKeys, streamKeys } from './stream-keys.js'

/** Where packets for payments go: the server's own address, and the secrets from which those of payments are derived. */
export interface ReceivingServer {
  /** The address of the server (IL-RFC 15). Those of payments are below it. */
  readonly ilpAddress: string
  /**
   * Secrets of 32 random bytes. The first is for new addresses, the others for those that were told before. To rotate without a
   * gap, every replica gets the new one as its second, then as its first; the old one goes when no payment is open that was read
   * before.
   */
  readonly secrets: readonly [Buffer, ...Buffer[]]
}

/** What is paid: known from the address alone, without looking anything up. */
export interface PaymentTarget {
  /** The id of the payment, a UUID. */
  readonly paymentId: string
  /** What the payment receives. */
  readonly asset: Asset
}

/** What a sender needs for sending to a payment. */
export interface StreamCredentials {
  /** At most 1,023 characters. */
  readonly ilpAddress: string
  /** 32 bytes. Whoever knows it can fulfill packets to the address, so it goes to the payer alone. */
  readonly sharedSecret: Buffer
}

/** Whose packet it is: the payment and the keys of its address; or that the address is somebody else's, or nobody's. */
export type ResolvedAddress =
  | { readonly outcome: 'payment'; readonly target: PaymentTarget; readonly keys: StreamKeys }
  /** Not below the server's address. */
  | { readonly outcome: 'elsewhere' }
  /** Below it, but not made by this server, or with a secret that is no longer accepted. */
  | { readonly outcome: 'unknown' }

/** The addresses of payments. Nothing is stored: an address contains, encrypted, whose it is. */
export interface PaymentAddresses {
  /**
   * Makes the address of a payment, and its secret: those of no other payment. They are the same each time while the first of the
   * secrets is, so that what tells of them does not change from one reading to the next.
   */
  issue(target: PaymentTarget): StreamCredentials
  /** Reads an address. What follows the payment's own segment is ignored. */
  resolve(ilpAddress: string): ResolvedAddress
}

const CIPHER = 'aes-256-gcm'
const SECRET_BYTES = 32
const NONCE_BYTES = 16
const TAG_BYTES = 16
const UUID_BYTES = 16
/** Maximum number of addresses whose packets need no decryption of the address any more: a payment may have many packets. */
const REMEMBERED_MAX = 1_000
/** The key is used once, so the initialization vector is constant. */
const IV = Buffer.alloc(12)
/** The longest payment segment in base64url, with its dot: an asset code has at most 32 bytes. */
const SEGMENT_LENGTH_MAX = 1 + Math.ceil(((NONCE_BYTES + TAG_BYTES + UUID_BYTES + 1 + 32) * 4) / 3)
const ADDRESS_LENGTH_MAX = 1023

/**
 * @throws RangeError when the server's address is malformed or leaves no room for the payments', or a secret is not 32 bytes
 */
export function createPaymentAddresses({ ilpAddress, secrets }: ReceivingServer): PaymentAddresses {
  if (!isIlpAddress(ilpAddress) || ilpAddress.length + SEGMENT_LENGTH_MAX > ADDRESS_LENGTH_MAX) {
    throw new RangeError(
      `ilpAddress must be an Interledger address of at most ${ADDRESS_LENGTH_MAX - SEGMENT_LENGTH_MAX} characters`
    )
  }
  if (secrets.some((secret) => secret.length !== SECRET_BYTES)) {
    throw new RangeError(`secrets must have ${SECRET_BYTES} bytes each`)
  }
  const prefix = `${ilpAddress}.`
  const remembered = new LRUCache<string, ResolvedAddress>({ max: REMEMBERED_MAX })
  const read = (segment: string): ResolvedAddress => {
    const token = Buffer.from(segment, 'base64url')
    for (const secret of secrets) {
      const target = open(token, secret)
      if (target === undefined) continue
      const address = { outcome: 'payment', target, keys: streamKeys(sharedSecretOf(token, secret)) } as const
      remembered.set(segment, address)
      return address
    }
    return { outcome: 'unknown' }
  }
  return {
    issue(target) {
      const token = seal(target, secrets[0])
      return {
        ilpAddress: prefix + token.toString('base64url'),
        sharedSecret: sharedSecretOf(token, secrets[0])
      }
    },
    resolve(address) {
      const segment = address.startsWith(prefix) ? address.slice(prefix.length).split('.', 1)[0] : undefined
      if (segment === undefined || segment === '') return { outcome: 'elsewhere' }
      return remembered.get(segment) ?? read(segment)
    }
  }
}

function sharedSecretOf(token: Buffer, secret: Buffer): Buffer {
  return hmac(secret, Buffer.concat([Buffer.from('shared secret'), token]))
}

function keyOf(nonce: Buffer, secret: Buffer): Buffer {
  return hmac(secret, Buffer.concat([Buffer.from('payment token'), nonce]))
}

/** The nonce of a payment tells its key. It is never used with another payment, and so never for another plaintext. */
function nonceOf(paymentId: string, secret: Buffer): Buffer {
  return hmac(secret, `nonce ${paymentId}`).subarray(0, NONCE_BYTES)
}

function seal({ paymentId, asset }: PaymentTarget, secret: Buffer): Buffer {
  if (!isUuid(paymentId)) throw new RangeError('paymentId must be a UUID')
  const nonce = nonceOf(paymentId, secret)
  const cipher = createCipheriv(CIPHER, keyOf(nonce, secret), IV)
  const encrypted = [
    cipher.update(Buffer.from(paymentId.replaceAll('-', ''), 'hex')),
    cipher.update(Buffer.of(asset.scale)),
    cipher.update(asset.code, 'utf8'),
    cipher.final()
  ]
  return Buffer.concat([nonce, cipher.getAuthTag(), ...encrypted])
}

function open(token: Buffer, secret: Buffer): PaymentTarget | undefined {
  const nonce = token.subarray(0, NONCE_BYTES)
  const tag = token.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  if (tag.length !== TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, keyOf(nonce, secret), IV, {
    authTagLength: TAG_BYTES
  }).setAuthTag(tag)
  try {
    const decrypted = Buffer.concat([
      decipher.update(token.subarray(NONCE_BYTES + TAG_BYTES)),
      decipher.final()
    ])
    const id = decrypted.toString('hex', 0, UUID_BYTES)
    return {
      paymentId: [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join(
        '-'
      ),
      asset: { code: decrypted.toString('utf8', UUID_BYTES + 1), scale: decrypted.readUInt8(UUID_BYTES) }
    }
  } catch {
    return undefined
  }
}
