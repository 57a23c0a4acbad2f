import { isDeepStrictEqual } from 'node:util'
import { expectEqual, Story } from '@open-payments-server/testing/model-run'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import {
  LimitsModel,
  type ModelAnswer,
  type ModelCall,
  type ModelItem,
  type ModelPayment
} from './limits-model.js'
import type { LimitsServer } from './limits-server.js'

/** An index into the items that exist at that time: 0 is the newest. Taken modulo their number. */
export type Pick = number

/** The part of the reserved amount that is settled; a number is percent. */
export type Share = 'all' | 'none' | 'too much' | number

/** A call, chosen before its subject exists. */
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
  /** A repetition of an earlier call. */
  | { readonly method: 'repeat'; readonly call: Pick }

/** A kind of call; each of several concurrent calls counts. */
export const OPERATION_KINDS = [
  'grant',
  'reserve',
  'settle',
  'release',
  /** A repetition of an earlier call. */
  'duplicate',
  /** A call that arrives after later ones. */
  'delay',
  'together',
  'next interval',
  'clock jump',
  /** The client is frozen, or its freeze ends. */
  'freeze'
] as const

/** A kind of operation. */
export type OperationKind = (typeof OPERATION_KINDS)[number]

/** Observes operations. */
export type OnOperations = (kind: OperationKind, count: number) => void

/** Number of operations between two comparisons of the server with the model. */
const COMPARED_EVERY = 8
/** Number of operations between two audits by the server, which read everything. */
const AUDITED_EVERY = 40

/** One sequence of operations, each applied to both the server and the model. */
export class LimitsWorld {
  readonly #model: LimitsModel
  readonly #server: LimitsServer
  readonly #onOperations: OnOperations
  /** Every sent call, in order. */
  readonly #sent: ModelCall[] = []
  /** Calls that have not arrived yet. */
  readonly #underWay: ModelCall[] = []
  /** The first reservation of each payment, by its number; undefined if there is none. */
  readonly #payments: (ModelPayment | undefined)[] = []
  readonly #story = new Story()
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

  /** Creates a grant with a token that does not expire. */
  addGrant(items: readonly ModelItem[]): Promise<void> {
    return this.#step('grant', 1, async () => {
      this.#story.tell('grant', items)
      this.#model.addGrant(items)
      await this.#server.addGrant(items)
    })
  }

  /** Makes a call, and expects the answer of the model. */
  call(choice: CallChoice): Promise<void> {
    const kind = choice.method === 'repeat' ? 'duplicate' : choice.method
    return this.#step(kind, 1, () => this.#make(this.#send(choice)))
  }

  /** Sends a call that arrives later. */
  send(choice: CallChoice): void {
    const call = this.#send(choice)
    this.#story.tell('under way', call)
    this.#underWay.push(call)
  }

  /** Delivers a call that was sent before. */
  arrive(which: Pick): Promise<void> {
    const calls = this.#underWay.splice(which % this.#underWay.length, 1)
    return this.#step('delay', 1, async () => {
      for (const call of calls) await this.#make(call)
    })
  }

  /** Makes concurrent calls, and expects answers and counters that some order of the calls explains. */
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
      for (const { call, answer } of made) this.#story.tell('at once', call, answer)
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
      this.#story.tell('clock', new Date(nowMs).toISOString())
    })
  }

  /** Freezes the client of all grants, or ends its freeze. */
  freeze(freezes: boolean): Promise<void> {
    return this.#step('freeze', 1, async () => {
      this.#model.frozen = freezes
      await this.#server.freeze(freezes)
      this.#story.tell(freezes ? 'frozen' : 'not frozen')
    })
  }

  /** Delivers all pending calls, and compares everything. */
  async end(): Promise<void> {
    while (this.hasCallsUnderWay) await this.arrive(0)
    await this.#story.within(async () => {
      await this.#compare([...this.grants.keys()])
      await this.#audit()
    })
  }

  /** Expects the model's counters and spent amounts. */
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
    this.#story.tell(call, answer)
    expectEqual(answer, expected)
  }

  /**
   * Whether a call reserves under a grant of several items, for another payment than one of the calls. Two such payments may
   * both be refused although any order has room for one: each tries the items one after the other, so it may miss room that is
   * released behind it and taken before it. That is correct, but no order explains it.
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

  /** Turns a choice into a call about what exists now. */
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
    await this.#story.within(async () => {
      await work()
      if (this.#operations - this.#comparedAt >= COMPARED_EVERY) {
        await this.#compare([this.#operations % this.grants.length])
      }
      if (this.#operations - this.#auditedAt >= AUDITED_EVERY) await this.#audit()
    })
  }
}

/** A call and its answer. */
interface MadeCall {
  readonly call: ModelCall
  readonly answer: ModelAnswer
}

/**
 * Applies calls to a model. Returns whether it gives the same answers.
 *
 * If the server sums the spent amounts after it reserved the room, it sees what others did in between: then its totals are
 * accepted, and every repetition must get the same.
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

function isReserved(answer: ModelAnswer): answer is Extract<ModelAnswer, { reserved: unknown }> {
  return typeof answer === 'object' && 'reserved' in answer
}

/** A model's counters, in the form of {@link LimitsServer.windows}. */
function windowsOf(model: LimitsModel): Record<string, [string, string]> {
  return Object.fromEntries(
    model
      .windows()
      .map(({ grant, item, interval, debited, debitAsset, received, receiveAsset }) => [
        `${String(grant)}/${String(item)}/${String(interval)}`,
        [`${debited.toString()} ${debitAsset}`, `${received.toString()} ${receiveAsset}`]
      ])
  )
}

function indexOf(which: Pick, count: number): number {
  return count - 1 - (which % count)
}

/** For an id that was never reserved, any value is suitable. */
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
