import { hash } from 'node:crypto'

/** Generates identifiers and secrets. Passed in, so that tests can predict them. */
export interface Random {
  /** `length` unpredictable bytes. */
  bytes(length: number): Buffer
}

/** Bytes of a secret that goes to a client: 256 bits. */
const SECRET_BYTES = 32

/** A secret of 256 bits, base64url: continuation tokens, access tokens, nonces, interaction references. */
export function randomSecret(random: Random): string {
  return random.bytes(SECRET_BYTES).toString('base64url')
}

/** SHA-256 of a secret: what is stored and compared in its place. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/**
 * A UUID version 7 (RFC 9562 §5.7): 48 bits of time, then 74 bits from `entropy`. Ids made one after the other sort in
 * the order of their making, which keeps index pages dense.
 *
 * @param timestampMs milliseconds since the Unix epoch
 * @param entropy at least 10 bytes; the same entropy and time give the same id
 */
export function uuidV7(timestampMs: number, entropy: Uint8Array): string {
  if (entropy.length < 10) throw new RangeError('A UUID needs 10 bytes of entropy')
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(timestampMs, 0, 6)
  bytes.set(entropy.subarray(0, 10), 6)
  return formatUuid(bytes, 7)
}

/**
 * A UUID version 8 (RFC 9562 §5.8): 122 bits of a hash, for ids that are derived and contain no time.
 *
 * @param hash at least 16 bytes
 */
export function uuidV8(hash: Uint8Array): string {
  if (hash.length < 16) throw new RangeError('A UUID needs 16 bytes of hash')
  return formatUuid(Buffer.from(hash.subarray(0, 16)), 8)
}

/** Sets version and variant in 16 bytes, and formats them. */
function formatUuid(bytes: Buffer, version: number): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | (version << 4), 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** A fresh UUID version 7 at the clock's time. */
export function newId(clock: { now(): number }, random: Random): string {
  return uuidV7(clock.now(), random.bytes(10))
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Whether a text is a UUID in canonical lower-case form: the only form in which this project writes ids. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/**
 * The id (UUID) before another, so that a list of what comes after it starts with the other.
 *
 * @param id not the first of all
 */
export function idBefore(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) - 1n).toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
