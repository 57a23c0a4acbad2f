import { setTimeout as delay } from 'node:timers/promises'
import { expectEqual, Story } from '@open-payments-server/testing/model-run'
import { expect } from '@jest/globals'
import { explain, expectInOrder } from './money-explanation.js'
import { MoneyModel } from './money-model.js'
import { DECIDABLE_AFTER_SECONDS, type Manner } from './money-model-peers.js'
import { type Freezable, type ModelRule, type Operation, type Owner, OWNERS } from './money-operations.js'
import { BALANCE, type MoneyServer, PATIENCE_MS } from './money-server.js'
import { entries, FIXED_FEE } from './money-state.js'

/** An index into what there is at that time: 0 is the newest of what is suitable. Taken modulo their number. */
export type Pick = number

/** An operation, chosen before its subject exists. */
export type Choice =
  | { readonly kind: 'deposit' | 'withdraw'; readonly owner: Owner; readonly value: bigint }
  | {
      readonly kind: 'receive'
      readonly owner: Owner
      readonly incoming: bigint | undefined
      readonly lifetimeSeconds: number
    }
  | { readonly kind: 'complete'; readonly of: Pick }
  | { readonly kind: 'pay'; readonly owner: Owner; readonly to: Pick; readonly debit: bigint }
  /** A payment by the receiver of another one, of a part of what is left to refund, in percent. */
  | { readonly kind: 'pay back'; readonly of: Pick; readonly to: Pick; readonly percent: number }
  | { readonly kind: 'repeat' | 'approve' | 'decline'; readonly of: Pick }
  | { readonly kind: 'refund'; readonly of: Pick; readonly percent: number; readonly returnsFee: boolean }
  /** With the key of an earlier refund, and more or less than that. */
  | { readonly kind: 'refund again'; readonly of: Pick; readonly more: bigint }
  | { readonly kind: 'freeze'; readonly of: Freezable; readonly freezes: boolean }
  | { readonly kind: 'rule'; readonly rule: ModelRule }
  | { readonly kind: 'unrule'; readonly of: Pick }
  | { readonly kind: 'advance'; readonly seconds: number }
  | { readonly kind: 'pay elsewhere'; readonly owner: Owner; readonly debit: bigint }
  | { readonly kind: 'packet'; readonly to: Pick; readonly value: bigint }
  | { readonly kind: 'packet again'; readonly of: Pick }
  /** Of a payment with a packet that can be decided about; time passes if it is too early for all of them. */
  | { readonly kind: 'decide packet'; readonly of: Pick }
  | { readonly kind: 'manner'; readonly manner: Manner }
  /** A maximum that leaves some room; undefined: none. */
  | { readonly kind: 'bound'; readonly who: 'they' | 'we'; readonly room: bigint | undefined }
  /** A part of what is owed, in percent. */
  | { readonly kind: 'settle'; readonly who: 'they' | 'we'; readonly percent: number }

/** Concurrent operations. Each begins so many milliseconds late. */
export type ChoicesTogether = readonly { readonly choice: Choice; readonly lateMs: number }[]

/** The kinds of operations. Each of several concurrent ones counts as its own kind, and as `together`. */
export const OPERATION_KINDS = [
  'deposit',
  'withdraw',
  'receive',
  'complete',
  'pay',
  'pay back',
  'repeat',
  'approve',
  'decline',
  'refund',
  'refund again',
  'freeze',
  'rule',
  'unrule',
  'advance',
  'pay elsewhere',
  'packet',
  'packet again',
  'decide packet',
  'manner',
  'bound',
  'settle'
] as const satisfies readonly Choice['kind'][]

/** What is counted: operations of each kind, those done at once, and how payments ended. */
export type Counted = Choice['kind'] | 'together' | 'credited packets' | `ended ${string}`

/** Time between two looks, in milliseconds. */
const WAIT_MS = 2
/** Number of operations between two comparisons of what operators see with the model. */
const COMPARED_EVERY = 8
/** One sequence of operations, each done by both the server and the model. */
export class MoneyWorld {
  #model: MoneyModel
  readonly #server: MoneyServer
  readonly #onCounted: (what: Counted) => void
  readonly #story = new Story()
  #lastNumber = 0
  /** Number of operations since what operators see was compared. */
  #uncompared = 0

  constructor(server: MoneyServer, onCounted: (what: Counted) => void) {
    this.#server = server
    this.#model = MoneyModel.begin(server.nowMs, BALANCE, server.holdsFrozen)
    this.#onCounted = onCounted
  }

  /** Whether there is what an operation is about. */
  canDo(choice: Choice): boolean {
    return this.#resolve(choice, 0) !== undefined
  }

  /** Does an operation, and expects the answer and everything that is to be seen then. */
  do(choice: Choice): Promise<void> {
    return this.doTogether([{ choice, lateMs: 0 }])
  }

  /** Does concurrent operations, and expects answers and everything that is to be seen then to be explained by some order. */
  doTogether(choices: ChoicesTogether): Promise<void> {
    const isSending = this.#isSending || choices.some(({ choice }) => choice.kind === 'pay elsewhere')
    const operations = choices.flatMap(({ choice, lateMs }, index) => {
      const operation = this.#resolve(choice, index + 1)
      // The clock of a payment that is being sent must not jump beyond its lease.
      const isTooMuch = isSending && choices.length > 1 && operation?.kind === 'advance'
      if (operation === undefined || isTooMuch) return []
      this.#onCounted(operation.kind === 'advance' ? 'advance' : choice.kind)
      if (choices.length > 1) this.#onCounted('together')
      return [{ operation, lateMs }]
    })
    this.#lastNumber += choices.length
    return this.#story.within(() => this.#step(operations))
  }

  /** Ends everything that is under way, and compares what clients see, and what is counted elsewhere. */
  async end(): Promise<void> {
    const freezings: Freezable[] = OWNERS.flatMap((owner) => [
      { what: 'account', owner },
      { what: 'wallet address', owner }
    ])
    for (const of of ['client' as const, ...freezings])
      await this.#end({ kind: 'freeze', of, freezes: false })
    for (const [rule] of entries(this.#model.known.rules)) await this.#end({ kind: 'unrule', rule })
    for (const [payment, { state }] of entries(this.#model.known.payments))
      if (state === 'awaiting_approval') await this.#end({ kind: 'decline', payment })
    await this.#endSendings()
    const { payments, peering } = this.#model.known
    for (const { state, reason, incoming } of Object.values(payments))
      this.#onCounted(`ended ${incoming === undefined ? 'elsewhere ' : ''}${reason === '' ? state : reason}`)
    for (const { credited } of Object.values(peering.packets))
      if (credited) this.#onCounted('credited packets')
    await this.#story.within(async () => {
      const shown = this.#model.show()
      await this.#compare()
      expectEqual(await this.#server.seeAtTheEnd(shown), {
        payments: shown.payments,
        received: Object.fromEntries(
          entries(shown.incoming).map(([number, [, received, refunded]]) => [number, [received, refunded]])
        ),
        spent: this.#model.spent(),
        wrong: []
      })
    })
  }

  #end(operation: Operation): Promise<void> {
    return this.#story.within(() => this.#step([{ operation, lateMs: 0 }]))
  }

  /** Lets everything that is sent elsewhere arrive. */
  async #endSendings(): Promise<void> {
    await this.#end({ kind: 'manner', manner: { splits: false, then: 'takes' } })
    await this.#end({ kind: 'bound', who: 'we', maximum: undefined })
    while (this.#isSending) {
      await this.#end({ kind: 'advance', seconds: 120 })
      for (const payment of this.#model.decidable())
        await this.#end({ kind: 'decide packet', payment, arrived: this.#hasArrived(payment) })
    }
  }

  /** Whether payments elsewhere have not ended. */
  get #isSending(): boolean {
    return Object.values(this.#model.known.payments).some(
      ({ sending, state }) => sending !== undefined && state !== 'completed' && state !== 'failed'
    )
  }

  #hasArrived(payment: number): boolean {
    return this.#model.payment(payment).sending?.unknown?.arrived === true
  }

  async #step(operations: readonly { operation: Operation; lateMs: number }[]): Promise<void> {
    const before = this.#model
    const answered = await Promise.all(
      operations.map(async ({ operation, lateMs }) => {
        if (lateMs > 0) await delay(lateMs)
        return { operation, answer: await this.#server.do(operation) }
      })
    )
    this.#story.tell(...answered.flatMap(({ operation, answer }) => [operation, answer]))
    const untilMs = Date.now() + PATIENCE_MS
    for (;;) {
      const seen = await this.#server.look()
      const after = explain(before.copy(), answered, seen)
      if (after !== undefined) {
        this.#model = after
        this.#uncompared += operations.length
        if (this.#uncompared >= COMPARED_EVERY) await this.#compare()
        return
      }
      // What is not explained now may be what the workers have yet to do.
      await this.#server.sweep()
      await delay(WAIT_MS)
      if (Date.now() < untilMs) continue
      const { answers, shown } = expectInOrder(
        before,
        operations.map(({ operation }) => operation)
      )
      expect({ answers: answered.map(({ answer }) => answer), seen }).toEqual({
        answers: answers.map((possible, index) => {
          const { answer = '' } = answered[index] ?? {}
          return possible.includes(answer) ? answer : possible
        }),
        seen: shown
      })
      throw new Error('no order of these operations explains what came of them')
    }
  }

  /** Expects that operators see what the model shows. */
  async #compare(): Promise<void> {
    this.#uncompared = 0
    const untilMs = Date.now() + PATIENCE_MS
    let seen = await this.#server.see()
    // A payment that a freeze holds is taken for a moment now and then, to be looked at.
    while (Object.values(seen.sending).some(([, , , isLeased]) => isLeased) && Date.now() < untilMs) {
      await delay(WAIT_MS)
      seen = await this.#server.see()
    }
    expectEqual(seen, this.#model.show())
  }

  /** Turns a choice into an operation about what exists now; undefined if there is nothing suitable. */
  #resolve(choice: Choice, newer: number): Operation | undefined {
    const { known } = this.#model
    const number = this.#lastNumber + newer
    switch (choice.kind) {
      case 'receive': {
        const { lifetimeSeconds, ...rest } = choice
        return { ...rest, number, expiresAtMs: known.nowMs + lifetimeSeconds * 1_000 }
      }
      case 'rule':
        return { ...choice, number }
      case 'complete': {
        const incoming = pickOf(entries(known.incoming), choice.of)
        return incoming && { kind: 'complete', incoming: incoming[0] }
      }
      case 'pay': {
        const incoming = this.#receiver(choice.to)
        const { owner, debit } = choice
        return incoming && { kind: 'pay', number, owner, incoming: incoming[0], debit, refundOf: undefined }
      }
      case 'pay back':
        return this.#payBack(choice, number)
      case 'repeat': {
        const payment = pickOf(entries(known.payments), choice.of)
        return payment && { kind: 'repeat', payment: payment[0] }
      }
      case 'approve':
      case 'decline': {
        const payment = this.#payment(choice.of, (one) => known.payments[one]?.state === 'awaiting_approval')
        return payment === undefined ? undefined : { kind: choice.kind, payment }
      }
      case 'refund': {
        const payment = this.#payment(choice.of, (one) => this.#model.leftToRefund(one) > 0n)
        if (payment === undefined) return undefined
        const value = partOf(this.#model.leftToRefund(payment), choice.percent)
        return { kind: 'refund', number, payment, value, returnsFee: choice.returnsFee }
      }
      case 'refund again': {
        const refund = pickOf(
          entries(known.refunds).filter(([, { byPayment }]) => !byPayment),
          choice.of
        )
        if (refund === undefined) return undefined
        const [earlier, { payment, value, returnsFee }] = refund
        return { kind: 'refund', number: earlier, payment, value: value + choice.more, returnsFee }
      }
      case 'unrule': {
        const rule = pickOf(entries(known.rules), choice.of)
        return rule && { kind: 'unrule', rule: rule[0] }
      }
      case 'deposit':
      case 'withdraw':
      case 'freeze':
      case 'advance':
      case 'manner':
        return choice
      default:
        return this.#resolveOfPeer(choice, number)
    }
  }

  #resolveOfPeer(
    choice: Extract<
      Choice,
      { kind: 'pay elsewhere' | 'packet' | 'packet again' | 'decide packet' | 'bound' | 'settle' }
    >,
    number: number
  ): Operation | undefined {
    const { peering } = this.#model.known
    switch (choice.kind) {
      case 'pay elsewhere':
        return { ...choice, number }
      case 'packet': {
        const incoming = this.#receiver(choice.to)
        return incoming && { kind: 'packet', number, incoming: incoming[0], value: choice.value }
      }
      case 'packet again': {
        const packet = pickOf(entries(peering.packets), choice.of)
        return packet && { kind: 'packet again', packet: packet[0] }
      }
      case 'decide packet': {
        const payment = pickOf(this.#model.decidable(), choice.of)
        if (payment !== undefined)
          return { kind: 'decide packet', payment, arrived: this.#hasArrived(payment) }
        const isTooEarly = Object.values(this.#model.known.payments).some(({ sending }) => sending?.unknown)
        return isTooEarly ? { kind: 'advance', seconds: DECIDABLE_AFTER_SECONDS + 1 } : undefined
      }
      case 'bound': {
        const { who, room } = choice
        const owed = who === 'they' ? peering.theyOwe - peering.weOwe : peering.weOwe
        const maximum = room === undefined ? undefined : owed + room
        return { kind: 'bound', who, maximum: maximum !== undefined && maximum < 0n ? 0n : maximum }
      }
      case 'settle': {
        const { who, percent } = choice
        const owed = who === 'they' ? peering.theyOwe : peering.weOwe
        return owed > 0n ? { kind: 'settle', who, value: partOf(owed, percent) } : undefined
      }
    }
  }

  #payBack(
    { of, to, percent }: Extract<Choice, { kind: 'pay back' }>,
    number: number
  ): Operation | undefined {
    const { known } = this.#model
    const refundOf = this.#payment(of, (one) => this.#model.leftToRefund(one) > 0n)
    if (refundOf === undefined) return undefined
    const original = this.#model.payment(refundOf)
    const all = entries(known.incoming)
    const ofPayer = all.filter(([, { owner }]) => owner === original.owner)
    const incoming = pickOf(ofPayer.length > 0 ? ofPayer : all, to)
    if (incoming === undefined) return undefined
    // Nobody here has received what went elsewhere.
    const owner = original.incoming === undefined ? 'bob' : this.#model.receiver(original.incoming).owner
    const value = partOf(this.#model.leftToRefund(refundOf), percent)
    // With the fee, which is a tenth of what is paid in dollars, and the fixed part.
    const debit = owner === 'carol' ? value : ((value + FIXED_FEE) * 10n) / 9n
    return { kind: 'pay', number, owner, incoming: incoming[0], debit: debit > 9n ? debit : 10n, refundOf }
  }

  /** An incoming payment, mostly one that can be paid. */
  #receiver(which: Pick): [number, unknown] | undefined {
    const all = entries(this.#model.known.incoming)
    const payable = all.filter(([number]) => this.#model.isPayable(number))
    return pickOf(payable.length > 0 && which % 8 !== 7 ? payable : all, which)
  }

  /** A payment, mostly one of those that are suitable. */
  #payment(which: Pick, isSuitable: (number: number) => boolean): number | undefined {
    const all = entries(this.#model.known.payments)
    const suitable = all.filter(([number]) => isSuitable(number))
    return pickOf(suitable.length > 0 && which % 8 !== 7 ? suitable : all, which)?.[0]
  }
}

function pickOf<Item>(items: readonly Item[], which: Pick): Item | undefined {
  return items[items.length - 1 - (which % items.length)]
}

/** A part of a value, at least 1. */
function partOf(value: bigint, percent: number): bigint {
  const part = (value * BigInt(percent)) / 100n
  return part > 0n ? part : 1n
}
