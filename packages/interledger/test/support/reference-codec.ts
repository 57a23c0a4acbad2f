// The wire forms once more, written from the specifications and from nothing else: IL-RFC 27, 29 and 30.

/** Bytes with their length before them (IL-RFC 30, variable-length octet strings). */
export function octets(bytes: Buffer): Buffer {
  if (bytes.length < 128) return Buffer.concat([Buffer.of(bytes.length), bytes])
  const hex = bytes.length.toString(16)
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.of(0x80 | length.length), length, bytes])
}

export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

/** An integer of as many bytes as it needs, with their number before it. */
export function varUint(value: bigint): Buffer {
  const hex = value.toString(16)
  return octets(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'))
}

/** `YYYYMMDDHHmmSSfff`, in UTC. */
export function timestamp(milliseconds: number): Buffer {
  return Buffer.from(new Date(milliseconds).toISOString().replace(/[^0-9]/g, ''), 'ascii')
}

export const text = (value: string): Buffer => octets(Buffer.from(value, 'utf8'))

export function prepare(packet: {
  amount: bigint
  expiresAtMs: number
  executionCondition: Buffer
  destination: string
  data: Buffer
}): Buffer {
  const { amount, expiresAtMs, executionCondition, destination, data } = packet
  return packetOf(12, [
    uint64(amount),
    timestamp(expiresAtMs),
    executionCondition,
    text(destination),
    octets(data)
  ])
}

export function fulfill({ fulfillment, data }: { fulfillment: Buffer; data: Buffer }): Buffer {
  return packetOf(13, [fulfillment, octets(data)])
}

export function reject(packet: { code: string; triggeredBy: string; message: string; data: Buffer }): Buffer {
  const { code, triggeredBy, message, data } = packet
  return packetOf(14, [Buffer.from(code, 'ascii'), text(triggeredBy), text(message), octets(data)])
}

/** A STREAM packet in the clear (IL-RFC 29 §5.2), of frames that are written already. */
export function stream(type: number, sequence: bigint, amount: bigint, frames: readonly Buffer[]): Buffer {
  return Buffer.concat([
    Buffer.of(1, type),
    varUint(sequence),
    varUint(amount),
    varUint(BigInt(frames.length)),
    ...frames
  ])
}

/** A frame (IL-RFC 29 §5.3). */
export function frame(type: number, ...contents: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(type), octets(Buffer.concat(contents))])
}

function packetOf(type: number, contents: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(type), octets(Buffer.concat(contents))])
}
