import {
  amount,
  type ConnectedSystem,
  converged,
  persistent,
  type TestClient
} from '@open-payments-server/acceptance'
import type { Answer, SignedRequestOptions } from '@open-payments-server/testing'

/** A payment as its client knows it. */
export interface OrderedPayment {
  /** Identifies it: kept in its metadata. */
  readonly mark: string
  /** The same request every time that it is sent. */
  readonly request: SignedRequestOptions
  /** The status of each attempt; undefined without an answer. */
  readonly answers: (Answer | undefined)[]
}

/** The amount and receiver. */
export interface Order {
  readonly token: string
  readonly receiver: string
  /** In alice's asset. */
  readonly debit: bigint
}

/** A payment as the resource server stored it. */
interface StoredPayment {
  readonly id: string
  readonly mark: string
  readonly debit_value: string
  readonly receive_value: string
}

/** Number of payments that are repeated concurrently: enough to race, and too few to keep a machine busy. */
const REPEATED_AT_ONCE = 6

/** Payments from alice that a client sends, and their answers. */
export class PaymentLoad {
  readonly payments: OrderedPayment[] = []
  /** When each was first answered with 201, by the clock of `performance`. */
  readonly #confirmedAtMs: number[] = []
  readonly #system: ConnectedSystem
  readonly #client: TestClient
  readonly #name: string

  /** @param name unique among the loads of the system */
  constructor(system: ConnectedSystem, client: TestClient, name = 'load') {
    this.#system = system
    this.#client = client
    this.#name = name
  }

  /** Creates a payment, signed once, so that repeats are identical. */
  order({ token, receiver, debit }: Order): OrderedPayment {
    const mark = `${this.#name}, payment ${String(this.payments.length)}`
    const payment = {
      mark,
      request: {
        accessToken: token,
        body: {
          walletAddress: this.#system.walletAddresses.alice,
          incomingPayment: receiver,
          debitAmount: amount(debit),
          metadata: { mark }
        },
        signature: { createdSeconds: Math.floor(this.#system.clock.now() / 1_000) }
      },
      answers: []
    }
    this.payments.push(payment)
    return payment
  }

  /** Sends a payment, or repeats it. */
  async send(payment: OrderedPayment): Promise<Answer | undefined> {
    const url = `${this.#system.resourceServerUrl}/outgoing-payments`
    const answer = await this.#client.request('POST', url, payment.request).catch(() => undefined)
    const isFirst = payment.answers.every((earlier) => earlier?.status !== 201)
    if (answer?.status === 201 && isFirst) this.#confirmedAtMs.push(performance.now())
    payment.answers.push(answer)
    return answer
  }

  /**
   * Repeats undecided payments until they are decided, as clients do without an answer or after a 503. The disturbance must be
   * over; before each attempt everything converges. Several attempts may be needed, because a busy machine exceeds deadlines even
   * when nothing is broken.
   *
   * @param timesMax maximum number of attempts: each undecided one may use up one of the ids that a payment may get
   */
  async sendUndecided(timesMax: number, withinMs?: number): Promise<void> {
    for (let times = 0; times < timesMax && this.undecided.length > 0; times += 1) {
      const waiting = this.undecided
      const sendNext = async (): Promise<void> => {
        for (let payment = waiting.shift(); payment !== undefined; payment = waiting.shift()) {
          await this.send(payment)
        }
      }
      await Promise.all(Array.from({ length: REPEATED_AT_ONCE }, sendNext))
      await converged(this.#system, withinMs)
    }
  }

  /** Undecided payments: one sentence for each payment of which the client does not know whether it exists. */
  get doubts(): string[] {
    return this.undecided.map(
      ({ mark, answers }) => `${mark} was answered ${told(answers)}, though nothing is broken any more`
    )
  }

  /** Longest time between two confirmations since an instant, in milliseconds. */
  longestGapMs(sinceMs: number): number {
    const since = this.#confirmedAtMs.filter((atMs) => atMs >= sinceMs)
    return Math.max(0, ...since.slice(1).map((atMs, index) => atMs - (since[index] ?? atMs)))
  }

  /** How often each status was answered. */
  get statuses(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { answers } of this.payments) {
      for (const answer of answers) {
        const name = String(answer?.status ?? 'no answer')
        counts[name] = (counts[name] ?? 0) + 1
      }
    }
    return counts
  }

  /** Payments that the client knows to exist. */
  get confirmed(): OrderedPayment[] {
    return this.payments.filter(({ answers }) => answers.some((answer) => answer?.status === 201))
  }

  /** Payments of which the client knows neither that they exist nor that they never will. */
  get undecided(): OrderedPayment[] {
    return this.payments.filter(({ answers }) => isUndecided(answers.at(-1)))
  }

  /** False answers: one sentence each. */
  async untruths(): Promise<string[]> {
    const rows = await this.#system.resourceDatabase.query<StoredPayment>(
      `select id, metadata->>'mark' as mark, debit_value, receive_value from outgoing_payment
        where metadata->>'mark' = any($1)`,
      [this.payments.map(({ mark }) => mark)]
    )
    // Not searched for each payment: proxies of this process stand still meanwhile, and a cluster behind them falls apart.
    const stored = new Map<string, StoredPayment[]>()
    for (const row of rows) stored.set(row.mark, [...(stored.get(row.mark) ?? []), row])
    return this.payments.flatMap((payment) => untruthsOf(payment, stored.get(payment.mark) ?? []))
  }

  /** Balances and grants compared with payments: one sentence for each difference. */
  async differences(before: { alice: bigint; bob: bigint }, tokens: readonly string[]): Promise<string[]> {
    const { sent, delivered } = await this.totals()
    return differencesBetween([
      ['taken from alice', before.alice - (await this.#system.balance('alice')), sent],
      ['given to bob', (await this.#system.balance('bob')) - before.bob, delivered],
      ['spent under the grants', await this.spent(tokens), sent]
    ])
  }

  /** What the payments debited, and what they delivered, each in its asset. */
  async totals(): Promise<{ readonly sent: bigint; readonly delivered: bigint }> {
    const [total] = await this.#system.resourceDatabase.query<{ sent: string; delivered: string }>(
      `select coalesce(sum(settled_debit_value), 0) as sent, coalesce(sum(settled_receive_value), 0) as delivered
         from outgoing_payment where metadata->>'mark' = any($1)`,
      [this.payments.map(({ mark }) => mark)]
    )
    return { sent: BigInt(total?.sent ?? -1), delivered: BigInt(total?.delivered ?? -1) }
  }

  /** What the grants of tokens spent in total. */
  async spent(tokens: readonly string[]): Promise<bigint> {
    const values = await Promise.all(tokens.map((token) => this.#spent(token)))
    return values.reduce((sum, value) => sum + value, 0n)
  }

  async #spent(token: string): Promise<bigint> {
    const url = `${this.#system.resourceServerUrl}/outgoing-payment-grant`
    const answer = await persistent(this.#client).request('GET', url, { accessToken: token })
    // Null before any payment.
    return answer.at('spentDebitAmount') === null ? 0n : BigInt(answer.textAt('spentDebitAmount.value'))
  }
}

/** One sentence for each amount that is not what it must be. */
export function differencesBetween(
  amounts: readonly (readonly [what: string, found: bigint, due: bigint])[]
): string[] {
  return amounts.flatMap(([what, found, due]) =>
    found === due ? [] : [`${String(found)} ${what}, and payments of ${String(due)}`]
  )
}

/** Whether an answer leaves open whether the payment exists, or will after a repetition. */
export function isUndecided(answer: Answer | undefined): boolean {
  return answer === undefined || answer.status === 503
}

function untruthsOf({ mark, answers }: OrderedPayment, stored: readonly StoredPayment[]): string[] {
  const [made] = stored
  if (stored.length > 1) return [`${mark} was made ${String(stored.length)} times`]
  const confirmations = answers.flatMap((answer) => (answer?.status === 201 ? [answer] : []))
  const [confirmation] = confirmations
  if (confirmation === undefined) {
    // An attempt without an answer is decided only by a later answer, or by a stored payment.
    const isOpen = isUndecided(answers.at(-1)) && answers.includes(undefined)
    return made === undefined || isOpen ? [] : [`${mark} was answered ${told(answers)}, and was made`]
  }
  if (made === undefined) return [`${mark} was answered ${told(answers)}, and was not made`]
  if (new Set(confirmations.map(({ text }) => text)).size > 1) return [`${mark} was confirmed in two ways`]
  const isSame =
    confirmation.textAt('id').endsWith(made.id) &&
    confirmation.textAt('debitAmount.value') === made.debit_value &&
    confirmation.textAt('receiveAmount.value') === made.receive_value
  return isSame ? [] : [`${mark} was confirmed as ${confirmation.text}, and is ${JSON.stringify(made)}`]
}

function told(answers: OrderedPayment['answers']): string {
  return answers.map((answer) => answer?.status ?? 'nothing').join(', ')
}
