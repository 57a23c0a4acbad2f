import { type Amount, isSameAsset } from '@open-payments-server/amounts'
import type { Clock, Outcome } from '@open-payments-server/runtime'
import {
  chargeableItems,
  contentHash,
  type Coverage,
  coverPayment,
  currentWindows,
  type PaymentContent,
  type RefusalReason,
  type Window
} from '../../domain/limits.js'
import type { GrantedAccessItem, TokenAccessReader } from '../../domain/token-record.js'
import type { ReserveManyRepository } from './many-repository.js'
import type {
  RecordedReservation,
  ReservationRequest,
  ReserveLimitsRepository,
  SpentValues
} from './repository.js'
import { type AttemptResult, createReserveTogether, type ReserveTogether } from './reserve-together.js'

/** What was decided about a payment. */
export type ReserveOutcome =
  /** There was room, and it is taken: by this call, or `repeated` by an earlier one. `spent` includes the payment. */
  | {
      readonly outcome: 'reserved'
      readonly grantId: string
      readonly spent: SpentValues
      readonly repeated: boolean
    }
  /** There was none, and there never will be for this payment id unless the reason is `token_inactive`. */
  | { readonly outcome: 'refused'; readonly reason: RefusalReason }
  /** The payment id was used by another request. */
  | { readonly outcome: 'mismatch' }
  /** The payment id was used by the same request, and holds room for other amounts. */
  | { readonly outcome: 'other_amounts' }

/** A payment that is to be made. */
export interface Payment {
  /** UUID. */
  readonly paymentId: string
  readonly content: PaymentContent
}

/** Reserves the amounts of payments under the grants of tokens. The same id for the same request is answered the same again. */
export interface ReserveLimits {
  /** Reserves for one payment. */
  readonly reserve: (payment: Payment) => Promise<ReserveOutcome>
  /**
   * Reserves for different payments, as if for one after the other.
   *
   * @returns what each came to, in their order
   */
  readonly reserveMany: (payments: readonly Payment[]) => Promise<readonly Outcome<ReserveOutcome>[]>
}

/** What reserving needs. */
export interface ReserveLimitsDependencies {
  readonly repository: ReserveLimitsRepository
  readonly manyRepository: ReserveManyRepository
  readonly tokenAccess: TokenAccessReader
  readonly clock: Clock
}

const TOKEN_INACTIVE: ReserveOutcome = { outcome: 'refused', reason: 'token_inactive' }

/** A payment that asks for room, and where there may be some. */
interface Asked extends Coverage {
  readonly request: ReservationRequest
  /** undefined for a token that was not issued here. */
  readonly grantId: string | undefined
  readonly chargeable: readonly GrantedAccessItem[]
}

export function createReserveLimits(dependencies: ReserveLimitsDependencies): ReserveLimits {
  const { repository, clock } = dependencies
  const reserveTogether = createReserveTogether(repository, dependencies.manyRepository)
  const ask = createAsk(dependencies)

  const reserveAlone = async (asked: Asked): Promise<ReserveOutcome> => {
    for (const window of asked.candidates) {
      const result = await repository.reserve(asked.request, window, asked.chargeable.length)
      if (result.outcome === 'twin') break
      if (result.outcome === 'none') continue
      const spent = result.spent ?? (await completeSpent(repository, asked, window))
      return { outcome: 'reserved', grantId: result.grantId, spent, repeated: false }
    }
    return refuse(asked, repository)
  }

  /** Goes on from what became of a payment among others. */
  const decide = async (
    asked: Asked,
    attempt: AttemptResult | undefined,
    alone: (asked: Asked) => Promise<ReserveOutcome>
  ): Promise<ReserveOutcome> => {
    const [window] = asked.candidates
    if (attempt?.outcome === 'reserved' && window !== undefined) {
      const spent = attempt.spent ?? (await completeSpent(repository, asked, window))
      return { outcome: 'reserved', grantId: attempt.grantId, spent, repeated: false }
    }
    const isRefused = attempt?.outcome === 'none' || attempt?.outcome === 'twin'
    return isRefused ? refuse(asked, repository) : alone(asked)
  }

  return {
    async reserve(payment) {
      const asked = await ask(payment, new Date(clock.now()))
      const attempts = await attemptTogether([asked], reserveTogether)
      return decide(asked, attempts.get(asked), reserveAlone)
    },

    async reserveMany(payments) {
      const now = new Date(clock.now())
      const asking = payments.map((payment) => ask(payment, now))
      const asked = (await Promise.allSettled(asking)).flatMap((one) =>
        one.status === 'fulfilled' ? [one.value] : []
      )
      const attempts = await attemptTogether(asked, reserveTogether)
      const inTurn = createTurns()
      // What is told as spent under a grant includes what the payments before it took.
      const reserveInTurn = (one: Asked): Promise<ReserveOutcome> =>
        inTurn(one.grantId, () => reserveAlone(one))
      const decideOn = async (one: Asked): Promise<ReserveOutcome> =>
        decide(one, attempts.get(one), reserveInTurn)
      return Promise.allSettled(asking.map(async (one) => decideOn(await one)))
    }
  }
}

/** Finds where there may be room for a payment. */
function createAsk({
  tokenAccess
}: ReserveLimitsDependencies): (payment: Payment, now: Date) => Promise<Asked> {
  return async ({ paymentId, content }, now) => {
    const access = await tokenAccess.accessOf(content.tokenHash)
    const items = access?.items ?? []
    const { candidates, refusal } = coverPayment(items, content, now)
    return {
      request: { paymentId, content, contentHash: contentHash(content, access?.grantId), now },
      grantId: access?.grantId,
      candidates,
      refusal: access === undefined ? 'token_inactive' : refusal,
      chargeable: chargeableItems(items)
    }
  }
}

/** Reserves together for the payments that it can be done for: those whose window alone says what is spent. */
async function attemptTogether(
  asked: readonly Asked[],
  reserveTogether: ReserveTogether
): Promise<ReadonlyMap<Asked, AttemptResult>> {
  const simple = asked.flatMap((one) => {
    const [window] = one.candidates
    return window !== undefined && one.chargeable.length === 1 ? [{ one, request: one.request, window }] : []
  })
  if (simple.length === 0) return new Map()
  const results = await reserveTogether(simple)
  return new Map(
    simple.flatMap(({ one }, index) => {
      const result = results[index]
      return result === undefined ? [] : [[one, result] as const]
    })
  )
}

/**
 * Records a refusal, unless something is recorded under the payment id, or the token is not alive; answers from what is
 * recorded then.
 */
async function refuse(asked: Asked, repository: ReserveLimitsRepository): Promise<ReserveOutcome> {
  // Of which grant the request is cannot be told, and so not whether what is recorded is its own.
  if (asked.grantId === undefined) return TOKEN_INACTIVE
  return answer(await repository.refuse(asked.request, asked.refusal), asked, repository)
}

/** Answers from what is recorded under the payment id: the refusal just made, or what was there before. */
async function answer(
  recorded: RecordedReservation | undefined,
  asked: Asked,
  repository: ReserveLimitsRepository
): Promise<ReserveOutcome> {
  if (recorded === undefined) return TOKEN_INACTIVE
  const { state, refusalReason, grantId, window } = recorded
  // Whoever released it had given up, and whoever asks again must not believe that room is held. Whatever the content: it is
  // over for this id, and the caller may go on with another.
  if (state === 'released') return { outcome: 'refused', reason: 'released' }
  if (recorded.contentHash !== undefined && !recorded.contentHash.equals(asked.request.contentHash)) {
    return { outcome: 'mismatch' }
  }
  if (refusalReason !== undefined) return { outcome: 'refused', reason: refusalReason }
  if (!isForAmountsOf(recorded, asked.request.content)) return { outcome: 'other_amounts' }
  if (grantId === undefined || window === undefined)
    throw new Error(`a reservation is ${state} without a window`)
  const spent = recorded.spent ?? (await completeSpent(repository, asked, window))
  return { outcome: 'reserved', grantId, spent, repeated: true }
}

function isForAmountsOf({ amounts }: RecordedReservation, content: PaymentContent): boolean {
  return (
    amounts !== undefined &&
    isSameAmount(amounts.debit, content.debitAmount) &&
    isSameAmount(amounts.receive, content.receiveAmount)
  )
}

function isSameAmount(one: Amount, other: Amount): boolean {
  return one.value === other.value && isSameAsset(one.asset, other.asset)
}

/** Over all items that payments can be charged to: each in its current interval, but the payment's own in the payment's. */
function completeSpent(
  repository: ReserveLimitsRepository,
  { request, chargeable }: Asked,
  own: Window
): Promise<SpentValues> {
  const others = chargeable.filter((item) => item.id !== own.accessItemId)
  return repository.completeSpent(request, [own, ...currentWindows(others, request.now)])
}

/** Does what has the same key one after the other. */
function createTurns(): <Value>(key: string | undefined, action: () => Promise<Value>) => Promise<Value> {
  const lastOf = new Map<string | undefined, Promise<unknown>>()
  return (key, action) => {
    const turn = (lastOf.get(key) ?? Promise.resolve()).then(action, action)
    lastOf.set(key, turn)
    return turn
  }
}
