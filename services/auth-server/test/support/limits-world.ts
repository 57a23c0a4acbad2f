import { inspect, isDeepStrictEqual } from 'node:util'
import { expect } from '@jest/globals'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import {
  LimitsModel,
  type ModelAnswer,
  type ModelCall,
  type ModelItem,
  type ModelPayment
} from './limits-model.js'
import type { LimitsServer } from './limits-server.js'

/** Which one is meant of those that there are by then: 0 is the newest. Taken modulo their number. */
export type Pick = number

/** How much is settled of what was reserved; a number is percent. */
export type Share = 'all' | 'none' | 'too much' | number

/** A call, chosen before it is known what there is to call about. */
export type CallChoice =
  | (Omit<ModelPayment, 'grant'> & {
      readonly method: 'reserve'
      readonly grant: Pick
      /** The id of an earlier payment; a new id when undefined. */
      readonly under: Pick | undefined
    })
  /** Of a payment, or of an id that was never reserved. */
  | {
      readonly method: 'settle'
      readonly of: Pick | 'unknown'
      readonly debited: Share
      readonly received: Share
    }
  | { readonly method: 'release'; readonly of: Pick | 'unknown' }
  /** An earlier call, as it was. */
  | { readonly method: 'repeat'; readonly call: Pick }

/** What an operation is: each call of several that are made at once counts. */
export const OPERATION_KINDS = [
  'grant',
  'reserve',
  'settle',
  'release',
  /** An earlier call, made again. */
  'duplicate',
  /** A call that arrives after others which were sent later. */
  'delay',
  'together',
  'next interval',
  'clock jump'
] as const

/** What an operation is. */
export type OperationKind = (typeof OPERATION_KINDS)[number]

/** Is told of operations that are made. */
export type OnOperations = (kind: OperationKind, count: number) => void

/** How many operations there are between two comparisons of the server with the model. */
const COMPARED_EVERY = 8
/** How many there are between two of the server's own audits, which read everything. */
const AUDITED_EVERY = 40

/** One sequence of operations, each made to the server and to the model alike. */
export class LimitsWorld {
  readonly #model: LimitsModel
  readonly #server: LimitsServer
  readonly #onOperations: OnOperations
  /** Every call that was sent, in the order of sending. */
  readonly #sent: ModelCall[] = []
  /** Of these, what did not arrive yet. */
  readonly #underWay: ModelCall[] = []
  /** By the number of the payment: what it was first reserved with, if it was. */
  readonly #payments: (ModelPayment | undefined)[] = []
  readonly #story: (readonly unknown[])[] = []
  #operations = 0
  #comparedAt = 0
  #auditedAt = 0

  constructor(server: LimitsServer, nowMs: number, onOperations: OnOperations) {
    this.#server = server
    this.#model = new LimitsModel(nowMs)
    this.#onOperations = onOperations
  }

  /** Milliseconds since 1970. */
  get nowMs(): number {
    return this.#model.nowMs
  }

  /** Grants in the order in which they were made, each with its access items. */
  get grants(): readonly (readonly ModelItem[])[] {
    return this.#model.grants
  }

  /** Whether there is a call that can be repeated. */
  get hasSentCalls(): boolean {
    return this.#sent.length > 0
  }

  /** Whether there is a call that can arrive. */
  get hasCallsUnderWay(): boolean {
    return this.#underWay.length > 0
  }

  /** Makes a grant, with a token that does not expire. */
  addGrant(items: readonly ModelItem[]): Promise<void> {
    return this.#step('grant', 1, async () => {
      this.#tell('grant', items)
      this.#model.addGrant(items)
      await this.#server.addGrant(items)
    })
  }

  /** Makes a call, and expects the answer of the model. */
  call(choice: CallChoice): Promise<void> {
    const kind = choice.method === 'repeat' ? 'duplicate' : choice.method
    return this.#step(kind, 1, () => this.#make(this.#send(choice)))
  }

  /** Sends a call that arrives when it is let to. */
  send(choice: CallChoice): void {
    const call = this.#send(choice)
    this.#tell('under way', call)
    this.#underWay.push(call)
  }

  /** Lets a call arrive that was sent before. */
  arrive(which: Pick): Promise<void> {
    const calls = this.#underWay.splice(which % this.#underWay.length, 1)
    return this.#step('delay', 1, async () => {
      for (const call of calls) await this.#make(call)
    })
  }

  /** Makes calls at once, and expects answers and counters that some order of them explains. */
  callTogether(choices: readonly CallChoice[]): Promise<void> {
    const calls: ModelCall[] = []
    for (const choice of choices) {
      const call = this.#send(choice)
      if (!this.#racesOverItems(call, calls)) calls.push(call)
    }
    return this.#step('together', calls.length, async () => {
      const made = await Promise.all(
        calls.map(async (call) => ({ call, answer: await this.#server.call(call) }))
      )
      for (const { call, answer } of made) this.#tell('at once', call, answer)
      const windows = await this.#server.windows()
      const order = permutationsOf(made).find((one) => {
        const model = this.#model.copy()
        return explains(model, one) && isDeepStrictEqual(windowsOf(model), windows)
      })
      if (order === undefined) throw new Error('no order of these calls explains what came of them')
      explains(this.#model, order)
    })
  }

  /** Moves the clock, forwards or backwards. */
  setClock(nowMs: number, kind: 'next interval' | 'clock jump'): Promise<void> {
    return this.#step(kind, 1, async () => {
      this.#model.nowMs = nowMs
      this.#server.setClock(nowMs)
      this.#tell('clock', new Date(nowMs).toISOString())
    })
  }

  /** Lets everything arrive that is under way, and compares all. */
  async end(): Promise<void> {
    while (this.hasCallsUnderWay) await this.arrive(0)
    await this.#withStory(async () => {
      await this.#compare([...this.grants.keys()])
      await this.#audit()
    })
  }

  /** Expects the counters of the model, and what some grants have spent. */
  async #compare(grants: readonly number[]): Promise<void> {
    this.#comparedAt = this.#operations
    const [windows, spent] = await Promise.all([
      this.#server.windows(),
      Promise.all(grants.map((grant) => this.#server.spent(grant)))
    ])
    expectEqual(windows, windowsOf(this.#model))
    expectEqual(
      spent,
      grants.map((grant) => this.#model.spent(grant) ?? ['none', 'none'])
    )
  }

  async #audit(): Promise<void> {
    this.#auditedAt = this.#operations
    expectEqual(await this.#server.violations(), [])
  }

  async #make(call: ModelCall): Promise<void> {
    const expected = this.#model.call(call)
    const answer = await this.#server.call(call)
    this.#tell(call, answer)
    expectEqual(answer, expected)
  }

  /**
   * Whether a call asks for room under a grant of several items, for another payment than one of the calls. Two such
   * payments may each be refused though any order has room for one: each tries the items one after the other, and what
   * is given back behind it and taken before it is as if it had never been free. That is no fault, but no order explains it.
   */
  #racesOverItems(call: ModelCall, others: readonly ModelCall[]): boolean {
    if (call.method !== 'reserve') return false
    const { id, payment } = call
    return (
      (this.grants[payment.grant]?.length ?? 0) > 1 &&
      others.some(
        (other) => other.method === 'reserve' && other.id !== id && other.payment.grant === payment.grant
      )
    )
  }

  /** Makes a choice a call, of what there is now. */
  #send(choice: CallChoice): ModelCall {
    const call = this.#resolve(choice)
    this.#sent.push(call)
    return call
  }

  #resolve(choice: CallChoice): ModelCall {
    switch (choice.method) {
      case 'reserve': {
        const { debit, receive, receiver, under } = choice
        const grant = indexOf(choice.grant, this.grants.length)
        const payment = { grant, debit, receive, receiver }
        const id = this.#paymentOf(under ?? 'unknown')
        this.#payments[id] ??= payment
        return { method: 'reserve', id, payment }
      }
      case 'settle': {
        const id = this.#paymentOf(choice.of)
        const { debit, receive } = this.#payments[id] ?? {}
        return {
          ...{ method: 'settle', id },
          debited: valueOf(choice.debited, debit?.value),
          received: valueOf(choice.received, receive?.value)
        }
      }
      case 'release':
        return { method: 'release', id: this.#paymentOf(choice.of) }
      case 'repeat':
        return (
          this.#sent[indexOf(choice.call, this.#sent.length)] ??
          this.#resolve({ method: 'release', of: 'unknown' })
        )
    }
  }

  /** The number of a payment; a new one for an unknown payment, and for the first. */
  #paymentOf(which: Pick | 'unknown'): number {
    const count = this.#payments.length
    if (which !== 'unknown' && count > 0) return indexOf(which, count)
    this.#payments.push(undefined)
    return count
  }

  async #step(kind: OperationKind, count: number, work: () => Promise<void>): Promise<void> {
    this.#onOperations(kind, count)
    this.#operations += count
    await this.#withStory(async () => {
      await work()
      if (this.#operations - this.#comparedAt >= COMPARED_EVERY) {
        await this.#compare([this.#operations % this.grants.length])
      }
      if (this.#operations - this.#auditedAt >= AUDITED_EVERY) await this.#audit()
    })
  }

  #tell(...parts: readonly unknown[]): void {
    this.#story.push(parts)
  }

  /** Tells what was done before when something fails. */
  async #withStory(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const story = this.#story.map((parts) => parts.map(inShort).join(' '))
      throw new Error([reason, '', 'What was done:', ...story].join('\n'), { cause: error })
    }
  }
}

/** A call that was made, and what it was answered with. */
interface MadeCall {
  readonly call: ModelCall
  readonly answer: ModelAnswer
}

/**
 * Makes calls to a model, and tells whether it answers them as they were answered.
 *
 * Where the server adds up what was spent after it took the room, it sees what others did in between: then its word is
 * taken for the totals, and every repetition must be told the same.
 */
function explains(model: LimitsModel, calls: readonly MadeCall[]): boolean {
  return calls.every(({ call, answer }) => {
    const isFirst = !model.knows(call.id)
    const expected = model.call(call)
    if (isFirst && isReserved(expected) && isReserved(answer) && !model.countsAtOnce(call.id)) {
      model.recordAnswer(call.id, answer)
      return true
    }
    return isDeepStrictEqual(answer, expected)
  })
}

/** As jest's own, which takes long, and is asked only to tell of a difference. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
}

/** One line of a story. */
function inShort(part: unknown): string {
  return typeof part === 'string'
    ? part
    : inspect(part, { depth: Infinity, breakLength: Infinity, compact: true })
}

function isReserved(answer: ModelAnswer): answer is Extract<ModelAnswer, { reserved: unknown }> {
  return typeof answer === 'object' && 'reserved' in answer
}

/** What a model counts, as {@link LimitsServer.windows} tells it. */
function windowsOf(model: LimitsModel): Record<string, [string, string]> {
  return Object.fromEntries(
    model
      .windows()
      .map(({ grant, item, interval, debited, received }) => [
        `${String(grant)}/${String(item)}/${String(interval)}`,
        [debited.toString(), received.toString()]
      ])
  )
}

function indexOf(which: Pick, count: number): number {
  return count - 1 - (which % count)
}

/** Of an id that was never reserved any value will do. */
function valueOf(share: Share, reserved = 100n): bigint {
  switch (share) {
    case 'all':
      return reserved
    case 'none':
      return 0n
    case 'too much':
      return reserved < UINT64_MAX ? reserved + 1n : reserved
    default:
      return (reserved * BigInt(share)) / 100n
  }
}

function permutationsOf<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, index) =>
    permutationsOf(items.toSpliced(index, 1)).map((others) => [item, ...others])
  )
}
