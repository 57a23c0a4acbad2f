import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { decodePrepare, decodeReply } from '@open-payments-server/interledger'
import {
  type RandomSequence,
  randomSequence,
  type RawAnswer,
  wholeNumber
} from '@open-payments-server/testing'
import fc from 'fast-check'
import { ACCEPTED, mustHold } from '../target.js'
import { checkAnswer } from './answers.js'
import type { FuzzedPeer } from './fuzzed-peer.js'
import { peerRequests, type PeerRequest, writePeerBody, writePost } from './peer-requests.js'
import { PipelinedConnection } from './pipelined-connection.js'

/** Connections at a time. */
const CONNECTIONS = 16
/** The most requests that are sent before the first is answered: with all of them, more than are taken of one peer at a time. */
const BATCH_MAX = 24
/** Cases of one seed. */
const SEED_CASES = 2_000
/** Cases that are made of one that is drawn, which takes longer than answering it: each with another nonce, condition and length. */
const VARIANTS = 5
/**
 * How often a request is tried. On a machine with too much to do, the database may not answer in time: then a service answers 503, or
 * not at all when it does not know whether it credited a packet. What no machine could do would get one of them every time.
 */
const TRIES_MAX = 10
const TRY_AGAIN_MS = 200
/** Share of requests that are sent twice in a batch. */
const DOUBLED_SHARE = 0.02

/** The kind of answer that says, or means, that the database did not answer in time. */
export const NOT_YET = 'not yet'

const requests = peerRequests({ largeWeight: 0.1 })

/** A request as it is sent. */
interface Written {
  readonly request: PeerRequest
  readonly content: Buffer
  readonly bytes: Buffer
}

/**
 * What other providers and strangers send to the listener for peers, over many connections at a time: in batches, over
 * connections that stay, that end, and that break off within a request.
 */
export class PeerFlood {
  /** How many answers there were of each kind so far. */
  readonly counts = new Map<string, number>()
  /** The amounts of the packets that were fulfilled and have one, by their conditions in hexadecimal. */
  readonly fulfilled = new Map<string, bigint>()
  readonly #random: RandomSequence
  #cases = 0

  /** @param port of the listener, on 127.0.0.1 */
  constructor(
    readonly port: number,
    readonly peer: FuzzedPeer,
    readonly seed: number
  ) {
    this.#random = randomSequence(seed)
  }

  /**
   * Sends that many requests. Resolves once each was answered, and no connection is left.
   *
   * @throws Error with the first answer that is wrong, and the request in hexadecimal
   */
  async send(count: number): Promise<void> {
    for (let left = count; left > 0; left -= SEED_CASES) {
      const unique = this.#draw(Math.min(left, SEED_CASES))
      const send = async (): Promise<void> => {
        let connection: PipelinedConnection | undefined
        while (unique.length > 0) {
          connection = await this.#sendBatch(this.#nextBatch(unique), connection)
        }
        connection?.end()
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, send))
    }
  }

  /** Draws requests. No two packets have one condition, unless one is sent twice. */
  #draw(count: number): PeerRequest[] {
    const numRuns = Math.ceil(count / VARIANTS)
    const drawn = fc.sample(requests, { seed: this.seed + this.#cases, numRuns })
    const first = this.#cases
    this.#cases += count
    return Array.from({ length: count }, (_, index) => {
      const request = drawn[index % numRuns] as PeerRequest // there are as many
      return { ...request, input: { ...request.input, seed: first + index } }
    })
  }

  /** Takes the next requests off those that are left. One with a large body goes alone. */
  #nextBatch(left: PeerRequest[]): Written[] {
    const size = wholeNumber(this.#random, 1, BATCH_MAX)
    const large = left.findIndex(({ body }, index) => index < size && body === 'large')
    const taken = left.splice(0, large > 0 ? large : large === 0 ? 1 : size)
    return taken.flatMap((request) => {
      const content = writePeerBody(request, this.peer, Date.now())
      const bytes = writePost(request, this.peer, { content, isLast: this.#random() < 0.02 })
      const written = { request, content, bytes }
      return this.#random() < DOUBLED_SHARE && request.body !== 'large' ? [written, written] : [written]
    })
  }

  /**
   * Sends requests until each is answered: as a provider does, those without an answer once more.
   *
   * @returns the connection that is left
   */
  async #sendBatch(
    batch: readonly Written[],
    from: PipelinedConnection | undefined
  ): Promise<PipelinedConnection | undefined> {
    let connection = from
    let left = batch
    for (let tries = 1; left.length > 0; tries += 1) {
      if (connection?.isOpen !== true) connection = await PipelinedConnection.open(this.port)
      const answers = await connection.send(left.map(({ bytes }) => bytes))
      mustHold({ 'each request is answered once': answers.length <= left.length })
      const again = left.filter((written, index) => !this.#isAnswered(written, answers[index]))
      if (again.length < left.length) tries = 0
      else if (tries === TRIES_MAX) throw failure(left[0], 'is not answered')
      else if (tries > 1) await this.#waitForDatabase()
      left = again
    }
    if (connection?.isOpen !== true) return undefined
    const draw = this.#random()
    if (draw > 0.1) return connection
    const [next] = batch
    if (draw > 0.03 || next === undefined) connection.end()
    else connection.breakOff(next.bytes.subarray(0, wholeNumber(this.#random, 1, next.bytes.length - 1)))
    return undefined
  }

  async #waitForDatabase(): Promise<void> {
    this.#count(NOT_YET)
    await delay(TRY_AGAIN_MS)
  }

  #isAnswered(written: Written, answer: RawAnswer | undefined): boolean {
    if (answer === undefined) return false
    if (answer.status === 503 && answer.body.includes('temporarily unavailable')) {
      this.#count(NOT_YET)
      return false
    }
    try {
      this.#count(this.#resultOf(written, answer))
      return true
    } catch (error) {
      throw failure(written, `is answered ${JSON.stringify(answer)}`, error)
    }
  }

  #count(result: string): void {
    this.counts.set(result, (this.counts.get(result) ?? 0) + 1)
  }

  #resultOf({ request, content }: Written, { status, headers, body }: RawAnswer): string {
    const isPeer = request.authorization === 'token'
    if (status !== 200) {
      mustHold({
        'what is too large gets 413': (request.body === 'large') === (status === 413),
        'a stranger gets 401': isPeer || status === 401 || status === 413,
        'a peer gets 400': !isPeer || status === 400 || status === 413
      })
      return checkAnswer({ status, header: (name) => headers[name], body }, 'POST')
    }
    mustHold({
      'only a peer is answered': isPeer,
      'only packets are answered': /^application\/octet-stream/i.test(request.contentType)
    })
    const reply = decodeReply(Buffer.from(body, 'latin1'))
    if (reply.type === 'reject') return reply.code
    const { amount, executionCondition } = decodePrepare(content)
    const condition = createHash('sha256').update(reply.fulfillment).digest()
    mustHold({ 'the answer is to this packet': condition.equals(executionCondition) })
    // A packet without money is fulfilled, and nothing is credited.
    if (amount > 0n) this.fulfilled.set(condition.toString('hex'), amount)
    return ACCEPTED
  }
}

function failure(written: Written | undefined, what: string, cause?: unknown): Error {
  const bytes = written?.bytes.subarray(0, 4_096).toString('hex') ?? ''
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return new Error(`a request ${what}${reason}\n${bytes}`, { cause })
}
