import { type Amount, isSameAsset } from '@open-payments-server/value-types/amounts'
import {
  intervalBounds,
  intervalIndexAt,
  parseRepeatingInterval,
  type RepeatingInterval
} from '@open-payments-server/value-types/intervals'
import type { AccessItem, Limits } from './access.js'
import { invalidField } from './errors.js'

/** An access item that the account holder granted, narrowed or as it was asked for. */
export interface GrantedItem {
  /** Place of the item that it narrows, from 0. */
  readonly position: number
  readonly item: AccessItem
}

/** Why an item does not narrow another: the member at fault, such as `limits.interval`, and what is wrong with it. */
interface Widening {
  readonly member: string
  readonly problem: string
}

/**
 * Checks that what is granted is no more than what was asked. Each granted item narrows an item of its own, in the order in which
 * these were asked; items that none narrows are not granted. So whatever is charged to a granted item could have been
 * charged to the one it narrows, and no limit counts twice.
 *
 * @param granted at least one item, unless nothing was asked
 * @throws Refusal `invalid-field` naming the member of `access` that is more than was asked
 */
export function narrowAccess(
  asked: readonly AccessItem[],
  granted: readonly AccessItem[]
): readonly GrantedItem[] {
  let next = 0
  return granted.map((item, index) => {
    const field = `access[${String(index)}]`
    const candidates = asked.slice(next).map((each) => findWidening(each, item))
    // The first that fits leaves the most for the items that follow.
    const place = candidates.indexOf(undefined)
    if (place === -1) throw tooWide(field, asked.slice(next), item, candidates)
    const position = next + place
    next = position + 1
    return { position, item }
  })
}

/** Names what is wrong beside the item that was probably meant: the next one of its type. */
function tooWide(
  field: string,
  asked: readonly AccessItem[],
  item: AccessItem,
  candidates: readonly (Widening | undefined)[]
): Error {
  const widening = candidates[asked.findIndex(({ type }) => type === item.type)]
  if (widening === undefined) return invalidField(field, 'was not asked for')
  return invalidField(`${field}.${widening.member}`, widening.problem)
}

/**
 * Finds why an item allows more than another.
 *
 * @returns undefined when it allows at most as much
 */
function findWidening(asked: AccessItem, granted: AccessItem): Widening | undefined {
  if (granted.type !== asked.type) return { member: 'type', problem: `must be ${asked.type}, as asked` }
  if (granted.identifier !== asked.identifier)
    return { member: 'identifier', problem: 'must be the wallet address that was asked for' }
  if (!granted.actions.every((action) => asked.actions.includes(action)))
    return { member: 'actions', problem: 'must be among those that were asked for' }
  const widening = findWiderLimit(asked.limits ?? {}, granted.limits ?? {})
  return widening && { member: `limits.${widening.member}`, problem: widening.problem }
}

function findWiderLimit(asked: Limits, granted: Limits): Widening | undefined {
  if (granted.receiver !== asked.receiver)
    return { member: 'receiver', problem: 'must be the receiver that was asked for' }
  for (const member of ['debitAmount', 'receiveAmount'] as const) {
    const problem = findAmountProblem(asked[member], granted[member])
    if (problem !== undefined) return { member, problem }
  }
  const problem = findIntervalProblem(asked, granted)
  return problem === undefined ? undefined : { member: 'interval', problem }
}

function findAmountProblem(asked: Amount | undefined, granted: Amount | undefined): string | undefined {
  if (asked === undefined) return undefined
  if (granted === undefined) return 'must be there, as asked'
  if (!isSameAsset(asked.asset, granted.asset)) return 'must be in the asset that was asked for'
  return granted.value <= asked.value ? undefined : 'must be at most the amount that was asked for'
}

/** Amounts apply to each interval anew: a shorter one, or one more, would allow more. */
function findIntervalProblem(asked: Limits, granted: Limits): string | undefined {
  if (granted.interval === undefined)
    return asked.interval === undefined ? undefined : 'must be there, as asked'
  const interval = parseRepeatingInterval(granted.interval)
  if (asked.interval === undefined) {
    const isUnlimited = asked.debitAmount === undefined && asked.receiveAmount === undefined
    return isUnlimited || interval.count === 1 ? undefined : 'must be a single one, as none was asked for'
  }
  const whole = parseRepeatingInterval(asked.interval)
  if (isFewerOf(whole, interval) || isWithinOneOf(whole, interval)) return undefined
  return 'must be the interval that was asked for, with at most as many repetitions, or lie within one of these'
}

/** Whether an interval is another one with at most as many repetitions. */
function isFewerOf(whole: RepeatingInterval, part: RepeatingInterval): boolean {
  const isSameChain =
    whole.anchor === part.anchor &&
    whole.anchorMs === part.anchorMs &&
    whole.duration.months === part.duration.months &&
    whole.duration.milliseconds === part.duration.milliseconds
  if (!isSameChain) return false
  return whole.count === undefined || (part.count !== undefined && part.count <= whole.count)
}

/** Whether an interval does not repeat, and lies within one of another's. */
function isWithinOneOf(whole: RepeatingInterval, part: RepeatingInterval): boolean {
  if (part.count !== 1) return false
  const { startMs, endMs } = intervalBounds(part, 0n)
  const index = intervalIndexAt(whole, startMs)
  return index !== undefined && endMs <= intervalBounds(whole, index).endMs
}
