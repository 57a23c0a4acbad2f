import type { Socket } from 'node:net'

/** A message of PostgreSQL's protocol (its documentation, "Message Formats"), whole. */
export interface WireMessage {
  /** One letter; empty for messages that open a connection. */
  readonly type: string
  /** The whole message, including type and length. */
  readonly bytes: Buffer
}

const TYPE_BYTES = 1
const LENGTH_BYTES = 4

/**
 * Reads messages from a socket.
 *
 * @param options.startsUntyped whether the first message has no type, as from a client
 */
export function readMessages(
  socket: Socket,
  options: { startsUntyped: boolean; onMessage: (message: WireMessage) => void }
): void {
  let untyped = options.startsUntyped
  let unread: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])
    for (;;) {
      const typeBytes = untyped ? 0 : TYPE_BYTES
      if (unread.length < typeBytes + LENGTH_BYTES) return
      const length = typeBytes + unread.readInt32BE(typeBytes)
      if (unread.length < length) return
      const type = untyped ? '' : String.fromCharCode(unread.readUInt8(0))
      options.onMessage({ type, bytes: unread.subarray(0, length) })
      untyped = false
      unread = unread.subarray(length)
    }
  })
}
