import { isDeepStrictEqual } from 'node:util'
import type { MoneyModel } from './money-model.js'
import type { Operation } from './money-operations.js'
import type { Shown } from './money-state.js'

/** An operation and its answer. */
export interface Answered {
  readonly operation: Operation
  readonly answer: string
}

/**
 * Finds an order of operations that were done at once, and of what workers did meanwhile, that explains the answers and what is to be
 * seen after them.
 *
 * @returns the model after it; undefined if there is none
 */
export function explain(
  model: MoneyModel,
  answered: readonly Answered[],
  seen: Shown
): MoneyModel | undefined {
  return new Search(seen).from(model, answered, undefined)
}

/** The incoming payment that received something last, and from whom: what one batch brings it is told as one. */
interface LastReceipt {
  readonly incoming: number
  readonly from: 'here' | 'peer'
}

/** A search through all orders. Where several lead to the same state, what follows is searched once. */
class Search {
  readonly #seen: Shown
  /** States from which nothing leads to what is seen. */
  readonly #futile = new Set<string>()

  constructor(seen: Shown) {
    this.#seen = seen
  }

  from(
    model: MoneyModel,
    answered: readonly Answered[],
    last: LastReceipt | undefined
  ): MoneyModel | undefined {
    const state = JSON.stringify([model.known, answered, last], (_, value: unknown) =>
      typeof value === 'bigint' ? `${String(value)}n` : value
    )
    if (this.#futile.has(state)) return undefined
    const found = this.#search(model, answered, last)
    if (found === undefined) this.#futile.add(state)
    return found
  }

  #search(
    model: MoneyModel,
    answered: readonly Answered[],
    last: LastReceipt | undefined
  ): MoneyModel | undefined {
    const seen = this.#seen
    for (const [index, { operation, answer }] of answered.entries()) {
      for (const together of canBeOneBatch(receiptOf(model, operation), last)) {
        const next = model.copy()
        if (!next.do(operation, together).includes(answer)) continue
        const receipt = receiptOf(next, operation)
        const isCredited = receipt !== undefined && hasMore(next, model, receipt.incoming)
        const found = this.from(next, answered.toSpliced(index, 1), isCredited ? receipt : undefined)
        if (found !== undefined) return found
      }
    }
    for (const number of model.overdue()) {
      const found = this.#after(model, number, answered, (next) => next.timeOut(number))
      if (found) return found
    }
    for (const number of model.sendable()) {
      const found = this.#after(model, number, answered, (next) => next.send(number))
      if (found) return found
    }
    for (const number of model.processable()) {
      for (const together of canBeOneBatch(settlingOf(model, number), last)) {
        const found = this.#after(model, number, answered, (next) => next.settle(number, together))
        if (found) return found
      }
    }
    const isQuiet = answered.length + stepsOf(model) === 0
    if (!isQuiet) return undefined
    model.tellExpiries()
    return isDeepStrictEqual(model.show(), seen) ? model : undefined
  }

  /** What follows a step of a payment, unless that ends it otherwise than it is seen to have ended. */
  #after(
    model: MoneyModel,
    number: number,
    answered: readonly Answered[],
    step: (next: MoneyModel) => void
  ): MoneyModel | undefined {
    const next = model.copy()
    step(next)
    return endsAsSeen(next, number, this.#seen)
      ? this.from(next, answered, settlingOf(next, number))
      : undefined
  }
}

/** How everything is after operations one after the other, and what each may have answered: to describe what was not explained. */
export function expectInOrder(
  before: MoneyModel,
  operations: readonly Operation[]
): { readonly answers: readonly (readonly string[])[]; readonly shown: Shown } {
  const model = before.copy()
  const answers = operations.map((operation) => {
    const possible = model.do(operation)
    while (stepsOf(model) > 0) {
      for (const number of model.overdue()) model.timeOut(number)
      for (const number of model.sendable()) model.send(number)
      for (const number of model.processable()) model.settle(number)
    }
    return possible
  })
  model.tellExpiries()
  return { answers, shown: model.show() }
}

/** Number of payments with which something is to be done. */
function stepsOf(model: MoneyModel): number {
  return model.overdue().length + model.sendable().length + model.processable().length
}

/** Whether a payment has ended as it is seen: what ended does not change, so nothing else needs to be tried otherwise. */
function endsAsSeen(model: MoneyModel, number: number, seen: Shown): boolean {
  const { state, reason, sent } = model.payment(number)
  const isOver = state === 'completed' || state === 'failed'
  return !isOver || isDeepStrictEqual(seen.payments[number]?.slice(0, 3), [state, reason, sent])
}

/** What a payment brings or brought an incoming payment here, if anything. */
function settlingOf(model: MoneyModel, number: number): LastReceipt | undefined {
  const { incoming, state, delivered } = model.payment(number)
  const isNothing = incoming === undefined || (state !== 'pending' && delivered === 0n)
  return isNothing ? undefined : { incoming, from: 'here' }
}

/** What a packet brings an incoming payment here, if it is credited now. */
function receiptOf({ known }: MoneyModel, operation: Operation): LastReceipt | undefined {
  const number =
    operation.kind === 'packet'
      ? operation.number
      : operation.kind === 'packet again'
        ? operation.packet
        : undefined
  const packet = number === undefined ? undefined : known.peering.packets[number]
  const incoming = operation.kind === 'packet' ? operation.incoming : packet?.incoming
  return incoming === undefined ? undefined : { incoming, from: 'peer' }
}

/** Whether an incoming payment has received more in one state than in another. */
function hasMore(now: MoneyModel, before: MoneyModel, incoming: number): boolean {
  return now.receiver(incoming).received > before.receiver(incoming).received
}

/** Whether what is received may be in one batch with what was received before, or not. */
function canBeOneBatch(next: LastReceipt | undefined, last: LastReceipt | undefined): readonly boolean[] {
  return next !== undefined && isDeepStrictEqual(next, last) ? [false, true] : [false]
}
