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
  seen: Shown,
  settledBefore?: number
): MoneyModel | undefined {
  for (const [index, { operation, answer }] of answered.entries()) {
    const next = model.copy()
    if (!next.do(operation).includes(answer)) continue
    const found = explain(next, answered.toSpliced(index, 1), seen)
    if (found !== undefined) return found
  }
  for (const number of model.overdue()) {
    const next = model.copy()
    next.timeOut(number)
    const found = endsAsSeen(next, number, seen) && explain(next, answered, seen)
    if (found) return found
  }
  for (const number of model.processable()) {
    for (const together of isToSame(model, number, settledBefore) ? [false, true] : [false]) {
      const next = model.copy()
      next.settle(number, together)
      const found = endsAsSeen(next, number, seen) && explain(next, answered, seen, number)
      if (found) return found
    }
  }
  const isQuiet = answered.length + model.overdue().length + model.processable().length === 0
  if (!isQuiet) return undefined
  model.tellExpiries()
  return isDeepStrictEqual(model.show(), seen) ? model : undefined
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
