import type { ServerResponse } from 'node:http'
import { EventStream } from './event-stream.js'
import type { Fields } from './fields.js'

/**
 * The answer to a request. Its fields are collected in a flat list and passed to Node once: a map of them, which could be
 * inspected and changed, costs several times as much.
 */
export class HttpResponse {
  readonly #response: ServerResponse
  readonly #fields: string[]

  /**
   * @param response used by nothing else
   * @param fields of every answer
   */
  constructor(response: ServerResponse, fields: Fields) {
    this.#response = response
    this.#fields = [...fields]
  }

  /** Whether it was already answered. */
  get isSent(): boolean {
    return this.#response.headersSent
  }

  /** Adds a field, also if there is one of the same name. */
  addField(name: string, value: string): void {
    this.#fields.push(name, value)
  }

  /** Answers with JSON. */
  sendJson(status: number, value: unknown): void {
    this.sendText(status, 'application/json; charset=utf-8', JSON.stringify(value))
  }

  /**
   * Answers with a text.
   *
   * @param lengthBytes of the text, if known
   */
  sendText(status: number, contentType: string, text: string, lengthBytes = Buffer.byteLength(text)): void {
    this.#fields.push('Content-Type', contentType, 'Content-Length', String(lengthBytes))
    // Text is sent with the headers in one write.
    this.#response.writeHead(status, this.#fields).end(text)
  }

  /** Answers with bytes. */
  sendBytes(status: number, contentType: string, bytes: Buffer): void {
    this.#fields.push('Content-Type', contentType, 'Content-Length', String(bytes.length))
    this.#response.writeHead(status, this.#fields).end(bytes)
  }

  /** Answers without a body. */
  sendEmpty(status: number): void {
    this.#response.writeHead(status, this.#fields).end()
  }

  /**
   * Redirects a browser with 303: it follows with GET and does not resend a form, as it would with 307 or 308, against which
   * RFC 9635's security considerations warn.
   *
   * @param location absolute URL of visible ASCII, sent to the letter
   */
  seeOther(location: string): void {
    this.addField('Location', location)
    this.sendEmpty(303)
  }

  /** Answers with events, as they happen. */
  openEventStream(): EventStream {
    return new EventStream(this.#response, this.#fields)
  }

  /** Calls back once nothing can be sent any more: all was, or the client is gone; at once when that is so already. */
  onClosed(listener: () => void): void {
    if (this.#response.destroyed) listener()
    else this.#response.once('close', listener)
  }

  /** Passes the collected fields to Node's response, so that others can use it to answer. */
  release(): ServerResponse {
    for (let index = 0; index + 1 < this.#fields.length; index += 2) {
      this.#response.appendHeader(this.#fields[index] ?? '', this.#fields[index + 1] ?? '')
    }
    this.#fields.length = 0
    return this.#response
  }
}
