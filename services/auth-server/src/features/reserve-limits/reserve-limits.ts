import type { ItemResult } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { type Amount, isSameAsset } from '@open-payments-server/value-types/amounts'
import { contentHash } from '@open-payments-server/value-types/identifiers'
import type { ReservationAnswer, RpcCounters } from '../../domain/counters.js'
import {
  chargeableItems,
  type Coverage,
  coverPayment,
  currentWindows,
  type PaymentContent,
  type RefusalReason,
  type Window
} from '../../domain/limits.js'
import { explainRefusal, type RefusalDetails } from '../../domain/remaining.js'
import type { GrantedAccessItem, TokenAccessReader } from '../../domain/token-record.js'
import type { Database } from '../../modules/database.js'
import {
  completeSpent,
  type RecordedReservation,
  refuse,
  type ReservationRequest,
  reserve,
  type WindowResult,
  type ReserveTogether,
  type SpentValues,
  type Suspension
} from '../../modules/limits/index.js'

/** The result for a payment. */
export type ReserveResult =
  /** It was reserved. `spent` includes the payment. */
  | {
      readonly kind: 'reserved'
      readonly grantId: string
      readonly spent: SpentValues
      /** The instant that decided its interval. */
      readonly chargedAtMs: number
      /** Whether an earlier call reserved it. */
      readonly wasReservedBefore: boolean
    }
  /**
   * It was refused, and always will be for this payment id unless the reason is `inactive-token`, `client-frozen` or `grant-paused`.
   * The details are of now, for another payment id.
   */
  | ({ readonly kind: 'refused'; readonly reason: RefusalReason } & RefusalDetails)
  /** The payment id was used by another request. */
  | { readonly kind: 'mismatch' }
  /** The payment id was used by the same request, which has reserved other amounts. */
  | { readonly kind: 'other-amounts' }

/** A payment that is to be made. */
export interface Payment {
  /** UUID. */
  readonly paymentId: string
  readonly content: PaymentContent
}

/** What reserving needs. */
export interface ReserveLimitsDependencies {
  readonly database: Database
  readonly reserveTogether: ReserveTogether
  readonly tokens: TokenAccessReader
  readonly clock: Clock
  readonly counters: Pick<RpcCounters, 'countReservation'>
}

/** What answering from what is recorded needs. */
type Answering = Pick<ReserveLimitsDependencies, 'database' | 'tokens'>

/** For everyone who must not know more. */
const NO_DETAILS: RefusalDetails = { remaining: undefined, refusedBy: undefined }

const INACTIVE_TOKEN: ReserveResult = { kind: 'refused', reason: 'inactive-token', ...NO_DETAILS }

/** A payment to be reserved, and the windows that may have room. */
interface Asked extends Coverage {
  readonly request: ReservationRequest
  /** undefined for a token that was not issued here. */
  readonly grantId: string | undefined
  /** All of the token's, in their order. */
  readonly items: readonly GrantedAccessItem[]
  readonly chargeable: readonly GrantedAccessItem[]
}

/**
 * Reserves the amounts of different payments under the grants of their tokens, as if one after the other: what it can with one
 * statement, and one by one, in order, those that others block. The same id for the same request gets the same result again.
 *
 * @returns the result of each, in order
 */
export async function reserveLimits(
  payments: readonly Payment[],
  dependencies: ReserveLimitsDependencies
): Promise<readonly ItemResult<ReserveResult>[]> {
  const { database, reserveTogether, clock, counters } = dependencies
  const nowMs = clock.now()
  const asking = await Promise.allSettled(payments.map((payment) => ask(payment, nowMs, dependencies)))
  const asked = asking.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const attempts = await attemptTogether(asked, reserveTogether)
  const refusals = refuseTogether(
    database,
    asked.filter((one) => attempts.get(one)?.result.kind === 'none')
  )
  const answering = { database, tokens: dependencies.tokens }
  const inTurn = createTurns()
  const decide = async (one: Asked): Promise<ReserveResult> => {
    const attempt = attempts.get(one)
    switch (attempt?.result.kind) {
      case 'reserved':
        return toReserved(database, one, attempt.window, attempt.result)
      case 'none':
        return answer(answering, (await refusals).get(one), one)
      case 'undecided':
      case undefined: // what is told as spent under a grant includes what the payments before it took
        return inTurn(one.grantId, () => reserveAlone(answering, one))
    }
  }
  return Promise.allSettled(
    asking.map(async (one) => {
      if (one.status === 'rejected') throw one.reason
      const result = await decide(one.value)
      counters.countReservation(countedAs(result))
      return result
    })
  )
}

/** Finds the windows that may have room for a payment. */
async function ask(
  { paymentId, content }: Payment,
  nowMs: number,
  { tokens }: ReserveLimitsDependencies
): Promise<Asked> {
  const access = await tokens.accessOf(content.tokenHash)
  const items = access?.items ?? []
  const coverage = coverPayment(items, content, nowMs)
  return {
    request: { paymentId, content, contentHash: contentHash(content, access?.grantId), nowMs },
    grantId: access?.grantId,
    ...coverage,
    refusal: access === undefined ? 'inactive-token' : coverage.refusal,
    items,
    chargeable: chargeableItems(items)
  }
}

function countedAs(result: ReserveResult): ReservationAnswer {
  switch (result.kind) {
    case 'reserved':
      return result.wasReservedBefore ? 'repeated' : 'reserved'
    case 'refused':
      return result.reason
    case 'mismatch':
    case 'other-amounts':
      return result.kind
  }
}

/** The result for a payment that was tried together with others. */
interface Attempt {
  readonly window: Window
  readonly result: WindowResult
}

/**
 * Reserves together for the payments for which this is possible: those whose window alone gives the spent amounts.
 *
 * @returns nothing for all others, which are to be tried alone
 */
async function attemptTogether(
  asked: readonly Asked[],
  reserveTogether: ReserveTogether
): Promise<ReadonlyMap<Asked, Attempt>> {
  const simple = asked.flatMap((one) => {
    const [window] = one.candidates
    return window !== undefined && one.chargeable.length === 1
      ? [{ one, request: one.request, window, onlyItem: true }]
      : []
  })
  const results = simple.length === 0 ? [] : await reserveTogether(simple)
  return new Map(
    simple.flatMap(({ one, window }, index) => {
      const result = results[index]
      return result === undefined ? [] : [[one, { window, result }] as const]
    })
  )
}

/** Reserves in the first window with room. */
async function reserveAlone(answering: Answering, asked: Asked): Promise<ReserveResult> {
  const { database } = answering
  const { request, candidates, chargeable } = asked
  for (const window of candidates) {
    const onlyItem = chargeable.length === 1
    const [result] = await reserve(database, [{ request, window, onlyItem }])
    if (result?.kind === 'reserved') return toReserved(database, asked, window, result)
  }
  return answer(answering, (await refuseTogether(database, [asked])).get(asked), asked)
}

async function toReserved(
  database: Database,
  asked: Asked,
  window: Window,
  { grantId, spent }: Extract<WindowResult, { kind: 'reserved' }>
): Promise<ReserveResult> {
  const all = spent ?? (await addUpSpent(database, asked, window))
  return { kind: 'reserved', grantId, spent: all, chargedAtMs: asked.request.nowMs, wasReservedBefore: false }
}

/**
 * Records refusals, each unless something is recorded under its payment id.
 *
 * @returns what is recorded; nothing for tokens that are not active, or were not issued here: then it is unknown which grant
 *   the request belongs to, and so whether the record is its own
 */
async function refuseTogether(
  database: Database,
  asked: readonly Asked[]
): Promise<ReadonlyMap<Asked, RecordedReservation | Suspension | undefined>> {
  const known = asked.filter(({ grantId }) => grantId !== undefined)
  const refusals = known.map(({ request, refusal, candidates }) => ({ request, reason: refusal, candidates }))
  const recorded = await refuse(database, refusals)
  return new Map(known.map((one, index) => [one, recorded[index]]))
}

/** Answers from what is recorded under the payment id: this refusal, or an earlier record. */
async function answer(
  { database, tokens }: Answering,
  recorded: RecordedReservation | Suspension | undefined,
  asked: Asked
): Promise<ReserveResult> {
  if (recorded === undefined) return INACTIVE_TOKEN
  if (typeof recorded === 'string') return { kind: 'refused', reason: recorded, ...NO_DETAILS }
  const { state, refusalReason, grantId, window, chargedAtMs } = recorded
  // Also for an id that was released: it stays bound to the request that reserved it.
  if (recorded.contentHash !== undefined && !recorded.contentHash.equals(asked.request.contentHash)) {
    return { kind: 'mismatch' }
  }
  // Its caller released it after giving up, so a repeated request must not believe that anything is reserved. This id has
  // ended, and the caller may continue with another.
  if (state === 'released') return { kind: 'refused', reason: 'released', ...NO_DETAILS }
  if (refusalReason !== undefined) {
    return { kind: 'refused', reason: refusalReason, ...(await detailsFor(asked, recorded, tokens)) }
  }
  if (!isForAmountsOf(recorded, asked.request.content)) return { kind: 'other-amounts' }
  if (grantId === undefined || window === undefined || chargedAtMs === undefined)
    throw new Error(`a reservation is ${state} without a window`)
  const spent = recorded.spent ?? (await addUpSpent(database, asked, window))
  return { kind: 'reserved', grantId, spent, chargedAtMs, wasReservedBefore: true }
}

/**
 * Only for an active token: without one, what the grant has spent is not told either. By the limits in force, which may have been
 * lowered after the access was cached.
 */
async function detailsFor(
  asked: Asked,
  { tokenActive, grantUpdatedAtMs, counted }: RecordedReservation,
  tokens: TokenAccessReader
): Promise<RefusalDetails> {
  const { content, nowMs } = asked.request
  if (!tokenActive) return NO_DETAILS
  const { items } = (await tokens.accessOf(content.tokenHash, grantUpdatedAtMs)) ?? asked
  return explainRefusal({ ...coverPayment(items, content, nowMs), items }, content, counted, nowMs)
}

function isForAmountsOf({ amounts }: RecordedReservation, content: PaymentContent): boolean {
  return (
    amounts !== undefined &&
    isSameAmount(amounts.debitAmount, content.debitAmount) &&
    isSameAmount(amounts.receiveAmount, content.receiveAmount)
  )
}

function isSameAmount(one: Amount, other: Amount): boolean {
  return one.value === other.value && isSameAsset(one.asset, other.asset)
}

/**
 * Over all items to which payments can be charged: each in its current interval, but the payment's own in the payment's.
 */
function addUpSpent(database: Database, { request, chargeable }: Asked, own: Window): Promise<SpentValues> {
  const others = chargeable.filter((item) => item.id !== own.accessItemId)
  return completeSpent(database, request, [own, ...currentWindows(others, request.nowMs)])
}

/** Runs tasks with the same key one after the other. */
function createTurns(): <Value>(key: string | undefined, action: () => Promise<Value>) => Promise<Value> {
  const lastOf = new Map<string | undefined, Promise<unknown>>()
  return (key, action) => {
    const turn = (lastOf.get(key) ?? Promise.resolve()).then(action, action)
    lastOf.set(key, turn)
    return turn
  }
}
