import { isDeepStrictEqual } from 'node:util'
import type { MoneyModel, Operation, Shown } from './money-model.js'

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
    settledBefore: number | undefined
  ): MoneyModel | undefined {
    const state = JSON.stringify([model.known, answered, settledBefore], (_, value: unknown) =>
      typeof value === 'bigint' ? `${String(value)}n` : value
    )
    if (this.#futile.has(state)) return undefined
    const found = this.#search(model, answered, settledBefore)
    if (found === undefined) this.#futile.add(state)
    return found
  }

  #search(
    model: MoneyModel,
    answered: readonly Answered[],
    settledBefore: number | undefined
  ): MoneyModel | undefined {
    const seen = this.#seen
    for (const [index, { operation, answer }] of answered.entries()) {
      const next = model.copy()
      if (!next.do(operation).includes(answer)) continue
      const found = this.from(next, answered.toSpliced(index, 1), undefined)
      if (found !== undefined) return found
    }
    for (const number of model.overdue()) {
      const next = model.copy()
      next.timeOut(number)
      const found = endsAsSeen(next, number, seen) && this.from(next, answered, undefined)
      if (found) return found
    }
    for (const number of model.processable()) {
      for (const together of isToSame(model, number, settledBefore) ? [false, true] : [false]) {
        const next = model.copy()
        next.settle(number, together)
        const found = endsAsSeen(next, number, seen) && this.from(next, answered, number)
        if (found) return found
      }
    }
    const isQuiet = answered.length + model.overdue().length + model.processable().length === 0
    if (!isQuiet) return undefined
    model.tellExpiries()
    return isDeepStrictEqual(model.show(), seen) ? model : undefined
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
    for (const number of model.overdue()) model.timeOut(number)
    for (const number of model.processable()) model.settle(number)
    return possible
  })
  model.tellExpiries()
  return { answers, shown: model.show() }
}

/** Whether a payment has ended as it is seen: what ended does not change, so nothing else needs to be tried otherwise. */
function endsAsSeen(model: MoneyModel, number: number, seen: Shown): boolean {
  const { state, reason, sent } = model.payment(number)
  return isDeepStrictEqual(seen.payments[number]?.slice(0, 3), [state, reason, sent])
}

/** Whether both payments deliver something to one receiver. */
function isToSame(model: MoneyModel, number: number, before: number | undefined): boolean {
  if (before === undefined) return false
  const { incoming, delivered } = model.payment(before)
  return delivered > 0n && model.payment(number).incoming === incoming
}
