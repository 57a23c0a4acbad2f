import {
  type ConnectedSystem,
  forgetReservations,
  type Groundwork,
  layGroundwork,
  type RequestKind,
  requestKinds
} from '@open-payments-server/acceptance'

/** Requests that are under way at a time. */
const SENDERS = 6
/** Not sent: each looks through whole tables, in both databases. They are asked once everything is done. */
const HEAVY: ReadonlySet<string> = new Set(['Audit', 'AuditLimits'])

/** Requests of every kind, one after the other, as many as are wanted. */
export class Load {
  /** What was not answered as it must be, one sentence each. */
  readonly failures: string[] = []
  /** Requests of gRPC and HTTP that were looked at; those that prepared them are not counted. */
  answerCount = 0
  readonly #groundwork: Groundwork
  readonly #kinds: readonly RequestKind[]
  #isStopping = false
  #turn = 0

  private constructor(groundwork: Groundwork) {
    this.#groundwork = groundwork
    this.#kinds = requestKinds().filter(({ name }) => !HEAVY.has(name))
  }

  static async prepare(system: ConnectedSystem): Promise<Load> {
    return new Load(await layGroundwork(system))
  }

  /** Sends requests until it is told to stop. */
  async run(): Promise<void> {
    await Promise.all(
      Array.from({ length: SENDERS }, async () => {
        while (!this.#isStopping) await this.#sendNext()
      })
    )
  }

  stop(): void {
    this.#isStopping = true
  }

  /** Sends one request of each kind and waits for all answers. */
  async sendEachKind(): Promise<void> {
    for (let count = 0; count < this.#kinds.length; count += 1) await this.#sendNext()
  }

  /** Takes back what was reserved without a payment: no payments belong to it, and the audit would say so. */
  async cleanUp(): Promise<void> {
    await forgetReservations(this.#groundwork)
  }

  async #sendNext(): Promise<void> {
    const kind = this.#kinds[this.#turn % this.#kinds.length]
    this.#turn += 1
    if (kind === undefined) throw new Error('there are no kinds of requests')
    try {
      const send = await kind.prepare(this.#groundwork)
      const answer = await send()
      if (answer !== kind.answer) this.failures.push(`${kind.name}: ${answer} instead of ${kind.answer}`)
    } catch (error) {
      this.failures.push(`${kind.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
    this.answerCount += 1
  }
}
