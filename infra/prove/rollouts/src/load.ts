import { types } from 'node:util'
import {
  type ConnectedSystem,
  forgetReservations,
  type Groundwork,
  layGroundwork,
  pay,
  type RequestKind,
  requestKinds
} from '@open-payments-server/acceptance'
import { isRpcError, status } from '@open-payments-server/grpc-transport'

/** Number of concurrent requests. */
const SENDERS = 6
/** Number of concurrent payments: enough for each of two replicas to reserve for several with one call. */
const PAYMENTS_TOGETHER = 8
/** Not sent, because each reads whole tables in both databases. They are sent once at the end. */
const HEAVY: ReadonlySet<string> = new Set(['Audit', 'AuditLimits'])

/** Kinds of requests that make payments. */
const PAYING = /^(a payment|payments)\b/

/** Requests of every kind in turn, any number of them. */
export class Load {
  /** Wrong answers, one sentence each. */
  readonly failures: string[] = []
  /** Number of checked requests over gRPC and HTTP, without those that prepared them. */
  answerCount = 0
  /** Number of requests that were refused for a moment while they might be, or got no answer, or could not be prepared for that. */
  refusalCount = 0
  #refusableUntilMs = 0
  readonly #groundwork: Groundwork
  readonly #kinds: readonly RequestKind[]
  #isStopping = false
  #turn = 0

  private constructor(groundwork: Groundwork, kinds: readonly RequestKind[]) {
    this.#groundwork = groundwork
    this.#kinds = kinds
  }

  /**
   * Prepares requests of every kind.
   *
   * @param runsOlder whether replicas of an older version run: calls that they do not know are left out then
   */
  static async prepare(system: ConnectedSystem, runsOlder: boolean): Promise<Load> {
    const groundwork = await layGroundwork(system)
    const kinds = [...requestKinds(), PAYMENTS].filter(({ name }) => !HEAVY.has(name))
    return new Load(groundwork, runsOlder ? await findKnown(kinds, groundwork) : kinds)
  }

  /** Sends requests until it is stopped. */
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

  /**
   * From now on, for this long, requests may be refused as temporarily unavailable. Payments may get no answer: when it is unknown whether
   * there is one, either would be wrong.
   */
  allowRefusals(forMs: number): void {
    this.#refusableUntilMs = performance.now() + forMs
  }

  /** Sends one request of each kind and waits for all answers. */
  async sendEachKind(): Promise<void> {
    for (let count = 0; count < this.#kinds.length; count += 1) await this.#sendNext()
  }

  /** Releases reservations without a payment, because the audit would name them. */
  async cleanUp(): Promise<void> {
    await forgetReservations(this.#groundwork)
  }

  async #sendNext(): Promise<void> {
    const kind = this.#kinds[this.#turn % this.#kinds.length]
    this.#turn += 1
    if (kind === undefined) throw new Error('there are no kinds of requests')
    const begunAtMs = performance.now()
    const { failure, isRefused } = await attempt(kind, this.#groundwork)
    // Asked at the end: some were under way when it began.
    if (isRefused && begunAtMs < this.#refusableUntilMs) {
      this.refusalCount += 1
      return
    }
    if (failure !== undefined) this.failures.push(`${kind.name}: ${failure}`)
    this.answerCount += 1
  }
}

/** How a request ended. */
interface Attempt {
  /** What is wrong with its answer; undefined for the expected one. */
  readonly failure: string | undefined
  /** Whether that is right while it may be refused for a moment. */
  readonly isRefused: boolean
}

async function attempt(kind: RequestKind, groundwork: Groundwork): Promise<Attempt> {
  try {
    const send = await kind.prepare(groundwork)
    const answer = await send()
    if (answer === kind.answer) return { failure: undefined, isRefused: false }
    return { failure: `${answer} instead of ${kind.answer}`, isRefused: isRefusal(answer, kind) }
  } catch (error) {
    const isRefused = tellsRefusal(error) || (PAYING.test(kind.name) && tellsNoAnswer(error))
    return { failure: error instanceof Error ? error.message : String(error), isRefused }
  }
}

/** Whether an answer says of all it does not do as expected that it is unavailable for a moment. */
function isRefusal(answer: string, kind: RequestKind): boolean {
  const [parts, expected] = [answer.split(', '), kind.answer.split(', ')]
  return parts.includes('503') && parts.every((part, index) => part === '503' || part === expected[index])
}

/** Whether a call, or a request that prepares another, was answered so. */
function tellsRefusal(error: unknown): boolean {
  return (
    isRpcError(error, status.UNAVAILABLE) || (error instanceof Error && /\b503 \{"error"/.test(error.message))
  )
}

/** Whether a connection ended instead of an answer. */
function tellsNoAnswer(error: unknown): boolean {
  // Not `instanceof`: errors of fetch are not of the test's realm.
  for (let each = error; types.isNativeError(each); each = each.cause)
    if (
      /other side closed|ECONNRESET/.test(`${each.message} ${String((each as NodeJS.ErrnoException).code)}`)
    )
      return true
  return false
}

/** Concurrent payments: the resource server reserves for them, and ends their reservations, with batch calls. */
const PAYMENTS: RequestKind = {
  name: 'payments at the same time',
  answer: Array.from({ length: PAYMENTS_TOGETHER }, () => '201').join(', '),
  prepare: ({ system, payToken, receiver }) =>
    Promise.resolve(async () => {
      const paying = Array.from({ length: PAYMENTS_TOGETHER }, () =>
        pay(system, system.shop, payToken, receiver.url, 100n)
      )
      return (await Promise.all(paying)).map((answer) => String(answer.status)).join(', ')
    })
}

/** Sends one of each to check that the call exists; its result is checked later. */
async function findKnown(kinds: readonly RequestKind[], groundwork: Groundwork): Promise<RequestKind[]> {
  const known = []
  for (const kind of kinds) {
    if (await isKnown(kind, groundwork)) known.push(kind)
    else console.log(`not sent, because the older version does not know it: ${kind.name}`)
  }
  return known
}

async function isKnown(kind: RequestKind, groundwork: Groundwork): Promise<boolean> {
  try {
    const send = await kind.prepare(groundwork)
    await send()
  } catch (error) {
    return !isRpcError(error, status.UNIMPLEMENTED)
  }
  return true
}
