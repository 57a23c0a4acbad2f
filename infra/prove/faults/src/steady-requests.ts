import type { Answer } from '@open-payments-server/testing'

/** Requests of one kind that are sent again and again. */
export interface SteadyRequest {
  readonly name: string
  readonly perSecond: number
  readonly send: () => Promise<Answer>
}

/** One of them, answered. */
export interface TimedAnswer {
  readonly name: string
  /** By the clock of `performance`. */
  readonly sentAtMs: number
  readonly tookMs: number
  /** Undefined without an answer. */
  readonly answer: Answer | undefined
}

/**
 * Requests at a steady rate, whether those before were answered or not, as they come from many clients: what is not answered
 * piles up.
 */
export class SteadyRequests {
  readonly answers: TimedAnswer[] = []
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #waiting = new Set<Promise<void>>()

  /** Begins to send. */
  constructor(requests: readonly SteadyRequest[]) {
    this.#timers = requests.map((request) =>
      setInterval(() => {
        const sent = this.#send(request).finally(() => this.#waiting.delete(sent))
        this.#waiting.add(sent)
      }, 1_000 / request.perSecond)
    )
  }

  /** Number of those that are not answered yet. */
  get waitingCount(): number {
    return this.#waiting.size
  }

  /** Those that were sent in a time. */
  sentIn(fromMs: number, untilMs: number): TimedAnswer[] {
    return this.answers.filter(({ sentAtMs }) => sentAtMs >= fromMs && sentAtMs < untilMs)
  }

  /** Sends no more. Resolves once all are answered. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#waiting)
  }

  async #send({ name, send }: SteadyRequest): Promise<void> {
    const sentAtMs = performance.now()
    const answer = await send().catch(() => undefined)
    this.answers.push({ name, sentAtMs, tookMs: performance.now() - sentAtMs, answer })
  }
}
