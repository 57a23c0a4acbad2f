import type { ServerResponse } from 'node:http'
import type { Fields } from './fields.js'

/**
 * Maximum size of what a client has not yet read, in bytes, beyond what the operating system buffers. Whoever reads too slowly is
 * cut off, and comes back where it stood.
 */
const UNREAD_BYTES_MAX = 65_536

/** A message of an event stream. */
export interface EventMessage {
  /** Type of the event, without line breaks. */
  readonly type: string
  /** What the client sends as `Last-Event-ID` when it comes back, without line breaks; undefined leaves it as it was. */
  readonly id: string | undefined
  /** Text, such as JSON. */
  readonly data: string
}

/** Writes a message as it is sent. */
export function formatMessage({ type, id, data }: EventMessage): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  return `event: ${type}\n${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`
}

/** Server-Sent Events (WHATWG HTML §9.2) that answer one request. */
export class EventStream {
  readonly #response: ServerResponse

  /** Sends the headers. */
  constructor(response: ServerResponse, fields: Fields) {
    this.#response = response
    response.writeHead(200, [
      ...fields,
      'Content-Type',
      'text/event-stream',
      'Cache-Control',
      'no-store',
      // Proxies that collect answers, such as nginx, pass each event on at once.
      'X-Accel-Buffering',
      'no'
    ])
    response.flushHeaders()
  }

  /** Sends messages, formatted by {@link formatMessage}. Nothing happens once the client is gone. */
  write(text: string): void {
    if (this.#response.writableEnded || this.#response.destroyed) return
    if (this.#response.writableLength > UNREAD_BYTES_MAX) this.#response.destroy()
    else this.#response.write(text)
  }

  /** Sends a comment, which clients ignore: so that nobody between takes the connection for dead. */
  beat(): void {
    this.write(':\n\n')
  }

  /** Ends the stream, and says when to come back, in milliseconds. */
  end(retryAfterMs: number): void {
    if (!this.#response.writableEnded) this.#response.end(`retry: ${String(Math.round(retryAfterMs))}\n\n`)
  }
}
