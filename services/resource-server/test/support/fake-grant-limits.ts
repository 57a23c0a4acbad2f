import {
  createHandlers,
  type GrpcService,
  isRpcError,
  RpcError,
  status
} from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { contentHash } from '@open-payments-server/value-types/identifiers'

/** The decision about a payment. */
type Decided = Exclude<auth.ReservationResult['result'], undefined>

const ENDED = { $case: 'ended' as const, value: {} }

/** A reservation as the fake keeps it. */
export interface FakeReservation {
  readonly paymentId: string
  /** {@link GRANT} unless given. */
  readonly grantId?: string
  /** Hash of the request; empty for one that was released before it was reserved. */
  readonly content: string
  readonly accessToken: string
  readonly walletAddress: string
  readonly receiver: string
  state: 'open' | 'settled' | 'released' | 'refused'
  readonly reason?: auth.RefusalReason
  readonly debitAmount: auth.Amount | undefined
  readonly receiveAmount: auth.Amount | undefined
  debited: bigint
  received: bigint
  /** Its age is counted from here. */
  createdAt: Date
  /** undefined for a payment that never reserved room. */
  chargedAt?: Date | undefined
  /** As `contentHash` gives it; none for what was released before it was reserved. */
  contentHash?: Buffer
  /** What its grant had spent, itself included; undefined for what never had room. */
  spent?: auth.GetSpentAmountsResponse
}

/** The default grant of tokens. */
const GRANT = '0190a5f0-0000-7000-8000-000000000001'

/** Numbers of requested operations; each item of a batch counts. */
export type Asked = Record<'reserve' | 'settle' | 'release', number>

/**
 * Grant limits as the contract describes them, over real gRPC: one interval, and a debit limit for each token. Tests make
 * it fail, before or after it did what it was asked.
 */
export class FakeGrantLimits {
  readonly reservations = new Map<string, FakeReservation>()
  /** Maximum total debit of a token; without an entry there is no limit. */
  readonly debitLimits = new Map<string, bigint>()
  /** The grant (UUID) of a token; undefined gives it {@link GRANT}. */
  grantOf: (accessToken: string) => string | undefined = () => undefined
  /** When a payment is charged. */
  chargeTime: () => Date = () => new Date()
  /** When the next interval of every grant begins. */
  nextIntervalTime: Date | undefined
  /** Tokens that may no longer be used. */
  readonly inactive = new Set<string>()
  /** The token holder; undefined is {@link client}. */
  clientOf: (accessToken: string) => string | undefined = () => undefined
  /** The holder of every other token. */
  client = ''
  /** The clients that are frozen: URLs of their wallet addresses. */
  frozenClients: () => Iterable<string> = () => []
  /** The grants that are paused, by id. */
  readonly pausedGrants = new Set<string>()
  /** Why a reservation is not recorded anew, by payment id. */
  readonly restoreRefusals = new Map<string, string>()
  /** The violations of its own audit. */
  auditViolations: string[] = []
  /** How often each was asked for, whether with others or alone. */
  readonly asked: Asked = { reserve: 0, settle: 0, release: 0 }
  /** How often it was called. */
  readonly calls: Record<'reserve' | 'end', number> = { reserve: 0, end: 0 }
  /** Runs before something has its effect, for each of several; may throw. */
  before: ((call: keyof Asked) => Promise<void> | void) | undefined
  /** Runs before reservations are listed. */
  beforeList: (() => Promise<void>) | undefined
  /** Runs after something has had its effect, for each of several; may throw, which leaves the effect. */
  after: ((call: keyof Asked) => Promise<void> | void) | undefined

  /** Its gRPC services. */
  services(logger: Logger): GrpcService[] {
    const handlers = createHandlers(logger)
    const counted = async <Result>(what: keyof Asked, handle: () => Result): Promise<Result> => {
      this.asked[what] += 1
      await this.before?.(what)
      const result = handle()
      await this.after?.(what)
      return result
    }
    const implementation: auth.GrantLimitsServiceServer = {
      reserve: handlers.unary(async ({ reservations }: auth.ReserveRequest) => {
        this.calls.reserve += 1
        return {
          results: await each(reservations, (request) => counted('reserve', () => this.#reserve(request)))
        }
      }),
      end: handlers.unary(async ({ ends }: auth.EndRequest) => {
        this.calls.end += 1
        return {
          results: await each(ends, ({ paymentId, end }) =>
            end?.$case === 'settlement'
              ? counted('settle', () => this.#settle(paymentId, end.value))
              : counted('release', () => this.#release(paymentId))
          )
        }
      }),
      getSpentAmounts: handlers.unary(async ({ accessToken }: auth.GetSpentAmountsRequest) => {
        if (this.inactive.has(accessToken)) throw refuse(status.FAILED_PRECONDITION)
        return this.#spent(accessToken)
      }),
      listOpenReservations: handlers.unary(
        async ({ olderThanSeconds, pageSize, pageToken }: auth.ListOpenReservationsRequest) => {
          const before = Date.now() - olderThanSeconds * 1_000
          const open = [...this.reservations.values()]
            .filter(({ state, createdAt }) => state === 'open' && createdAt.getTime() <= before)
            .sort((left, right) => (placeOf(left) < placeOf(right) ? -1 : 1))
            .filter((reservation) => placeOf(reservation) > pageToken)
          const page = open.slice(0, pageSize)
          const last = page.at(-1)
          const hasMore = open.length > pageSize && last !== undefined
          return {
            reservations: page.map((one) => toMessage(one, this.clientOf(one.accessToken) ?? this.client)),
            nextPageToken: hasMore ? placeOf(last) : ''
          }
        }
      ),
      listReservations: handlers.unary(async ({ afterPaymentId, pageSize }: auth.ListReservationsRequest) => {
        await this.beforeList?.()
        const after = [...this.reservations.values()]
          .filter(({ paymentId }) => paymentId > afterPaymentId)
          .sort((left, right) => (left.paymentId < right.paymentId ? -1 : 1))
        return {
          reservations: after
            .slice(0, pageSize)
            .map((one) => toMessage(one, this.clientOf(one.accessToken) ?? this.client))
        }
      }),
      restore: handlers.unary(async ({ reservations }: auth.RestoreRequest) => ({
        results: await each(reservations, async (lost) => this.#restore(lost))
      }))
    }
    const counts = { windowCount: 0n, reservationCount: 0n }
    const operator = {
      auditLimits: handlers.unary(async (_request: auth.AuditLimitsRequest) => ({
        ...counts,
        violations: this.auditViolations
      })),
      listFrozenClients: handlers.unary(async (_request: auth.ListFrozenClientsRequest) => ({
        clients: [...this.frozenClients()].map((walletAddress) =>
          auth.OperatedClient.fromPartial({ client: { walletAddress }, frozen: true })
        ),
        nextPageToken: ''
      }))
    }
    return [
      { definition: auth.GrantLimitsServiceService, implementation },
      { definition: auth.GrantOperatorServiceService, implementation: operator }
    ]
  }

  #reserve(request: auth.ReservationRequest): Decided {
    const { paymentId, accessToken, debitAmount, receiveAmount } = request
    const { walletAddress, receiver, requestHash } = request
    if ([...this.frozenClients()].includes(this.clientOf(accessToken) ?? ''))
      return refusal(auth.RefusalReason.REFUSAL_REASON_CLIENT_FROZEN)
    const grantId = this.grantOf(accessToken) ?? GRANT
    if (this.pausedGrants.has(grantId)) return refusal(auth.RefusalReason.REFUSAL_REASON_GRANT_PAUSED)
    const hash = contentHash({ requestHash, walletAddress, receiver }, grantId)
    const content = hash.toString('hex')
    const known = this.reservations.get(paymentId)
    if (known !== undefined && known.content !== '' && known.content !== content) {
      throw refuse(status.ALREADY_EXISTS)
    }
    if (known?.state === 'released') return refusal(auth.RefusalReason.REFUSAL_REASON_RELEASED)
    if (known?.reason !== undefined) return this.#overLimits(known.reason, request)
    const isForOtherAmounts =
      known !== undefined &&
      JSON.stringify([known.debitAmount, known.receiveAmount]) !==
        JSON.stringify([debitAmount, receiveAmount])
    if (isForOtherAmounts) throw refuse(status.ABORTED)
    const reservation = {
      paymentId,
      grantId,
      content,
      contentHash: hash,
      accessToken,
      walletAddress,
      receiver,
      debitAmount,
      receiveAmount,
      createdAt: new Date(),
      chargedAt: this.chargeTime()
    }
    if (known === undefined) {
      const reason = this.#reasonAgainst(accessToken, BigInt(debitAmount?.value ?? ''))
      if (reason === auth.RefusalReason.REFUSAL_REASON_INACTIVE_TOKEN) return refusal(reason)
      const amounts = {
        debited: BigInt(debitAmount?.value ?? ''),
        received: BigInt(receiveAmount?.value ?? '')
      }
      this.reservations.set(
        paymentId,
        reason === undefined
          ? { ...reservation, ...amounts, state: 'open' }
          : { ...reservation, debited: 0n, received: 0n, state: 'refused', reason }
      )
      if (reason !== undefined) return this.#overLimits(reason, request)
    }
    const reserved = this.reservations.get(paymentId)
    if (reserved === undefined) throw refuse(status.INTERNAL)
    reserved.spent ??= this.#spent(reserved.accessToken)
    return {
      $case: 'reserved',
      value: {
        grantId,
        ...reserved.spent,
        chargeTime: reserved.chargedAt,
        wasReservedBefore: known !== undefined
      }
    }
  }

  /** Returns what remains of a debit limit, and when the next interval begins. */
  #overLimits(reason: auth.RefusalReason, { accessToken, debitAmount }: auth.ReservationRequest): Decided {
    const limit = this.debitLimits.get(accessToken)
    if (limit === undefined || debitAmount === undefined) return refusal(reason)
    const left = limit - this.spent(accessToken).debited
    const remaining = {
      debitAmount: { ...debitAmount, value: (left < 0n ? 0n : left).toString() },
      receiveAmount: undefined,
      nextIntervalTime: this.nextIntervalTime
    }
    return refusal(reason, { remaining, refusedBy: REFUSED_BY_DEBIT })
  }

  #reasonAgainst(accessToken: string, debit: bigint): auth.RefusalReason | undefined {
    if (this.inactive.has(accessToken)) return auth.RefusalReason.REFUSAL_REASON_INACTIVE_TOKEN
    const limit = this.debitLimits.get(accessToken)
    const spent = this.spent(accessToken).debited
    return limit !== undefined && spent + debit > limit
      ? auth.RefusalReason.REFUSAL_REASON_LIMIT_EXCEEDED
      : undefined
  }

  #restore(lost: auth.LostReservation): { $case: 'restored'; value: auth.Restored } {
    const refusal = this.restoreRefusals.get(lost.paymentId)
    if (refusal !== undefined) {
      const code = refusal === 'The grant is unknown' ? status.NOT_FOUND : status.FAILED_PRECONDITION
      throw new RpcError({ code, message: refusal, field: 'grant_id' })
    }
    const { paymentId, grantId, walletAddress, receiver, debitAmount, receiveAmount } = lost
    const hash = contentHash(lost, grantId)
    if (!this.reservations.has(paymentId)) {
      this.reservations.set(paymentId, {
        paymentId,
        grantId,
        content: hash.toString('hex'),
        contentHash: hash,
        accessToken: '',
        walletAddress,
        receiver,
        state: 'open',
        debitAmount,
        receiveAmount,
        debited: BigInt(debitAmount?.value ?? ''),
        received: BigInt(receiveAmount?.value ?? ''),
        createdAt: new Date(),
        chargedAt: lost.chargeTime,
        spent: {
          spentDebitAmount: debitAmount && { ...debitAmount, value: lost.spentDebitValue },
          spentReceiveAmount: receiveAmount && { ...receiveAmount, value: lost.spentReceiveValue }
        }
      })
    }
    return { $case: 'restored', value: {} }
  }

  #settle(paymentId: string, settlement: auth.Settlement): typeof ENDED {
    const known = this.reservations.get(paymentId)
    if (known === undefined) throw refuse(status.NOT_FOUND)
    const [debited, received] = [BigInt(settlement.settledDebitValue), BigInt(settlement.settledReceiveValue)]
    if (known.state === 'settled' && known.debited === debited && known.received === received) return ENDED
    if (known.state !== 'open') throw refuse(status.FAILED_PRECONDITION)
    Object.assign(known, { state: 'settled', debited, received })
    return ENDED
  }

  #release(paymentId: string): typeof ENDED {
    const known = this.reservations.get(paymentId)
    if (known?.state === 'settled') throw refuse(status.FAILED_PRECONDITION)
    const nobody = { content: '', accessToken: '', walletAddress: '', receiver: '' }
    const empty = { ...nobody, debitAmount: undefined, receiveAmount: undefined }
    this.reservations.set(paymentId, {
      ...(known ?? { ...empty, paymentId, createdAt: new Date() }),
      state: 'released',
      debited: 0n,
      received: 0n
    })
    return ENDED
  }

  /** What a token has spent. */
  spent(accessToken: string): { debited: bigint; received: bigint } {
    const own = [...this.reservations.values()].filter(
      (reservation) => reservation.accessToken === accessToken
    )
    return {
      debited: own.reduce((sum, { debited }) => sum + debited, 0n),
      received: own.reduce((sum, { received }) => sum + received, 0n)
    }
  }

  #spent(accessToken: string): auth.GetSpentAmountsResponse {
    const first = [...this.reservations.values()].find((known) => known.accessToken === accessToken)
    if (first?.debitAmount === undefined || first.receiveAmount === undefined) {
      return { spentDebitAmount: undefined, spentReceiveAmount: undefined }
    }
    const { debited, received } = this.spent(accessToken)
    return {
      spentDebitAmount: { ...first.debitAmount, value: debited.toString() },
      spentReceiveAmount: { ...first.receiveAmount, value: received.toString() }
    }
  }
}

/** Answers each of several requests separately; fails as a whole like a real one without its database. */
async function each<Request, Answer>(
  requests: readonly Request[],
  answer: (request: Request) => Promise<Answer>
): Promise<{ result: Answer | { $case: 'failure'; value: auth.Failure } }[]> {
  return Promise.all(
    requests.map(async (request) => {
      try {
        return { result: await answer(request) }
      } catch (error) {
        if (!isRpcError(error) || error.code === status.UNAVAILABLE) throw error
        const value = { code: error.code, message: error.message, field: error.field ?? '' }
        return { result: { $case: 'failure' as const, value } }
      }
    })
  )
}

/** Position of a reservation among the open ones; also the token of the page after it. */
function placeOf({ createdAt, paymentId }: FakeReservation): string {
  return `${createdAt.toISOString()} ${paymentId}`
}

function refuse(code: status): RpcError {
  return new RpcError({ code, message: 'refused' })
}

const REFUSED_BY_DEBIT: auth.RefusingItem = {
  accessIndex: 0,
  limits: [auth.LimitName.LIMIT_NAME_DEBIT_AMOUNT]
}

function refusal(reason: auth.RefusalReason, details?: Omit<auth.Refused, 'reason'>): Decided {
  return { $case: 'refused', value: { reason, remaining: undefined, refusedBy: undefined, ...details } }
}

const STATES = {
  open: auth.ReservationState.RESERVATION_STATE_OPEN,
  settled: auth.ReservationState.RESERVATION_STATE_SETTLED,
  released: auth.ReservationState.RESERVATION_STATE_RELEASED,
  refused: auth.ReservationState.RESERVATION_STATE_REFUSED
}

function toMessage(reservation: FakeReservation, client: string): auth.Reservation {
  const { paymentId, grantId, state, debitAmount, receiveAmount, debited, received, createdAt } = reservation
  return {
    paymentId,
    grantId: grantId ?? GRANT,
    client,
    walletAddress: reservation.walletAddress,
    receiver: reservation.receiver,
    state: STATES[state],
    debitAmount,
    receiveAmount,
    settledDebitValue: state === 'settled' ? debited.toString() : '',
    settledReceiveValue: state === 'settled' ? received.toString() : '',
    createTime: createdAt,
    chargeTime: reservation.chargedAt,
    contentHash: reservation.contentHash ?? Buffer.alloc(0),
    spentDebitValue: reservation.spent?.spentDebitAmount?.value ?? '',
    spentReceiveValue: reservation.spent?.spentReceiveAmount?.value ?? ''
  }
}
