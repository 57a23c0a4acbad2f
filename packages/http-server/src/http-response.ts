import type { ServerResponse } from 'node:http'

/** Header fields by turns: a name, its value. */
export type Fields = readonly string[]

/**
 * The answer to a request. Its fields are gathered as a flat list and handed to Node once: a map of them, which could be
 * looked into and changed, costs several times as much.
 */
export class HttpResponse {
  readonly #response: ServerResponse
  readonly #fields: string[]

  /**
   * @param response that nobody else answers with
   * @param fields of every answer
   */
  constructor(response: ServerResponse, fields: Fields) {
    this.#response = response
    this.#fields = [...fields]
  }

  /** Whether it is answered already. */
  get isSent(): boolean {
    return this.#response.headersSent
  }

  /** Adds a field; beside one of the same name, where there is one. */
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
   * @param lengthBytes of the text, where it is known already
   */
  sendText(status: number, contentType: string, text: string, lengthBytes = Buffer.byteLength(text)): void {
    this.#fields.push('Content-Type', contentType, 'Content-Length', String(lengthBytes))
    // As text it goes out with the headers, in one write.
    this.#response.writeHead(status, this.#fields).end(text)
  }

  /** Answers without a body. */
  sendEmpty(status: number): void {
    this.#response.writeHead(status, this.#fields).end()
  }

  /** Hands the fields that were gathered to Node's response, for others to answer with it. */
  release(): ServerResponse {
    for (let index = 0; index + 1 < this.#fields.length; index += 2) {
      this.#response.appendHeader(this.#fields[index] ?? '', this.#fields[index + 1] ?? '')
    }
    this.#fields.length = 0
    return this.#response
  }
}
