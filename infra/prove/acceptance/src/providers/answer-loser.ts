import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** First byte of an ILP Fulfill (IL-RFC 27). */
const FULFILL_TYPE = 13

/** A way for packets to a peer on which answers get lost when they are to be. */
export class AnswerLoser {
  readonly #server: Server
  #isToLose = false
  #lost: (() => void) | undefined

  private constructor(target: string) {
    this.#server = createServer((incoming, outgoing) => {
      const passOn = async (): Promise<void> => {
        const { authorization = '', 'content-type': type = '' } = incoming.headers
        const headers = { authorization, 'content-type': type }
        const onward = request(target, { method: 'POST', headers })
        onward.end(await buffer(incoming))
        const [answer] = (await once(onward, 'response')) as [IncomingMessage]
        const bytes = await buffer(answer)
        if (this.#isToLose && bytes[0] === FULFILL_TYPE) {
          this.#isToLose = false
          outgoing.destroy()
          this.#lost?.()
        } else {
          outgoing.writeHead(answer.statusCode ?? 502, {
            'content-type': answer.headers['content-type'] ?? ''
          })
          outgoing.end(bytes)
        }
      }
      passOn().catch(() => outgoing.destroy())
    })
  }

  /**
   * Starts one on a free port of 127.0.0.1.
   *
   * @param target where the peer takes packets
   */
  static async start(target: string): Promise<AnswerLoser> {
    const loser = new AnswerLoser(target)
    await new Promise<void>((resolve) => loser.#server.listen(0, '127.0.0.1', resolve))
    return loser
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/`
  }

  /** Loses the next answer that says that a packet arrived. Resolves once it is lost. */
  loseNext(): Promise<void> {
    this.#isToLose = true
    return new Promise((resolve) => (this.#lost = resolve))
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
