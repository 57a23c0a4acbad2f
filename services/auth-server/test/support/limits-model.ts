import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import type { Answer } from './grpc-fixture.js'
import { intervalAt, type ModelInterval } from './model-interval.js'

/** An amount of the model: its assets all have scale 2. */
export interface ModelAmount {
  readonly value: bigint
  readonly asset: 'USD' | 'EUR'
}

/** An access item of the model, which allows creating outgoing payments. */
export interface ModelItem {
  /** The only receiver it allows; any when undefined. */
  readonly receiver: string | undefined
  /** Maximum debit per interval. */
  readonly debitMax: ModelAmount | undefined
  /** Maximum received amount per interval. */
  readonly receiveMax: ModelAmount | undefined
  /** The whole grant when undefined. */
  readonly interval: ModelInterval | undefined
}

/** A payment of the model. */
export interface ModelPayment {
  /** Number of its grant, from 0. */
  readonly grant: number
  readonly debit: ModelAmount
  readonly receive: ModelAmount
  readonly receiver: string
}

/** A call of the model. `id` is the number of a payment. */
export type ModelCall =
  | { readonly method: 'reserve'; readonly id: number; readonly payment: ModelPayment }
  | { readonly method: 'settle'; readonly id: number; readonly debited: bigint; readonly received: bigint }
  | { readonly method: 'release'; readonly id: number }

/** The answer to a call: a result of `Reserve`, or `OK` or the code of the others. */
export type ModelAnswer = Answer | string

/** Amounts spent of one item in one interval, in the assets of the first payment in it. */
export interface ModelWindow {
  readonly grant: number
  readonly item: number
  readonly interval: bigint
  readonly debitAsset: string
  readonly receiveAsset: string
}

interface Reserved {
  readonly kind: 'reserved'
  readonly payment: ModelPayment
  readonly window: ModelWindow
  readonly settled: boolean
  readonly debited: bigint
  readonly received: bigint
  readonly answer: Answer
}

/** The record of a payment id. */
type Recorded =
  Reserved | { readonly kind: 'refused'; readonly payment: ModelPayment; readonly answer: Answer } | Released

/** Released: bound to the payment that was reserved before, if there was one. */
interface Released {
  readonly kind: 'released'
  readonly payment: ModelPayment | undefined
}

/**
 * The rules of the limits, implemented again as simply as possible and for one call at a time: sums are computed from the list of
 * reservations whenever they are needed, without counters.
 */
export class LimitsModel {
  /** Milliseconds since 1970. */
  nowMs: number
  /** Whether the client of all grants is frozen. */
  frozen = false
  readonly #grants: (readonly ModelItem[])[] = []
  readonly #recorded = new Map<number, Recorded>()
  readonly #windows: ModelWindow[] = []

  constructor(nowMs: number) {
    this.nowMs = nowMs
  }

  /** Grants in the order in which they were made, each with its access items. */
  get grants(): readonly (readonly ModelItem[])[] {
    return this.#grants
  }

  /** A copy of the model that changes independently. */
  copy(): LimitsModel {
    const copy = new LimitsModel(this.nowMs)
    copy.#grants.push(...this.#grants)
    copy.#windows.push(...this.#windows)
    copy.frozen = this.frozen
    for (const [id, recorded] of this.#recorded) copy.#recorded.set(id, recorded)
    return copy
  }

  /** Creates the next grant. */
  addGrant(items: readonly ModelItem[]): void {
    this.#grants.push(items)
  }

  /** Makes a call. Returns the answer that the server must give. */
  call(call: ModelCall): ModelAnswer {
    switch (call.method) {
      case 'reserve':
        return this.#reserve(call.id, call.payment)
      case 'settle':
        return this.#settle(call.id, call)
      case 'release':
        return this.#release(call.id)
    }
  }

  /** Whether anything is recorded under the id of a payment. */
  knows(id: number): boolean {
    return this.#recorded.has(id)
  }

  /**
   * Whether the totals in the server's answer come from the statement that reserved the room. If not, it sums them right after, and
   * sees what other calls did in between.
   */
  countsAtOnce(id: number): boolean {
    const known = this.#recorded.get(id)
    return known?.kind === 'reserved' && isCounted(known) && this.#itemsOf(known.payment.grant).length === 1
  }

  /** Accepts the server's answer to a reservation. */
  recordAnswer(id: number, answer: Answer): void {
    const known = this.#recorded.get(id)
    if (known?.kind === 'reserved') this.#recorded.set(id, { ...known, answer })
  }

  /**
   * The amounts a grant has spent in the current interval, as `[debited, received]`; undefined before the first payment in it. Zero,
   * in the same assets, when everything was released.
   */
  spent(grant: number): readonly [string, string] | undefined {
    const [first] = this.#currentWindows(grant)
    return first && this.#totals(grant, first)
  }

  /** Every window that was ever used, with its expected counters. */
  windows(): readonly (ModelWindow & { readonly debited: bigint; readonly received: bigint })[] {
    return this.#windows.map((window) => ({ ...window, ...this.#countedIn(window) }))
  }

  #reserve(id: number, payment: ModelPayment): Answer {
    // Nothing is recorded: the freeze may end.
    if (this.frozen) return { refused: 'CLIENT_FROZEN' }
    const known = this.#recorded.get(id)
    if (known !== undefined) return answerAgain(known, payment)
    const answer = this.#tryItems(id, payment)
    if ('refused' in answer) this.#recorded.set(id, { kind: 'refused', payment, answer })
    return answer
  }

  #settle(id: number, { debited, received }: { debited: bigint; received: bigint }): string {
    const known = this.#recorded.get(id)
    if (known === undefined) return 'NOT_FOUND'
    if (known.kind !== 'reserved') return 'FAILED_PRECONDITION'
    if (debited > known.payment.debit.value) return 'INVALID_ARGUMENT settled_debit_value'
    if (received > known.payment.receive.value) return 'INVALID_ARGUMENT settled_receive_value'
    if (known.settled) {
      return known.debited === debited && known.received === received ? 'OK' : 'FAILED_PRECONDITION'
    }
    this.#recorded.set(id, { ...known, settled: true, debited, received })
    return 'OK'
  }

  #release(id: number): string {
    const known = this.#recorded.get(id)
    if (known?.kind === 'reserved' && known.settled) return 'FAILED_PRECONDITION'
    if (known?.kind !== 'refused') this.#recorded.set(id, { kind: 'released', payment: known?.payment })
    return 'OK'
  }

  #tryItems(id: number, payment: ModelPayment): Answer {
    const allowing = [...this.#itemsOf(payment.grant).entries()].filter(([, item]) => allows(item, payment))
    if (allowing.length === 0) return { refused: 'LIMIT_EXCEEDED' }
    const current = allowing.flatMap(([index, item]) => {
      const interval = this.#intervalOf(item)
      return interval === undefined ? [] : [{ item, window: this.#windowFor(payment, index, interval) }]
    })
    if (current.length === 0) return { refused: 'OUTSIDE_INTERVAL' }
    const charged = current.find(({ item, window }) => this.#hasRoom(item, window, payment))
    return charged === undefined ? { refused: 'LIMIT_EXCEEDED' } : this.#takeRoom(id, payment, charged.window)
  }

  /** The window of an item in an interval, or the one that this payment would open. */
  #windowFor({ grant, debit, receive }: ModelPayment, item: number, interval: bigint): ModelWindow {
    return (
      this.#findWindow(grant, item, interval) ?? {
        ...{ grant, item, interval },
        debitAsset: debit.asset,
        receiveAsset: receive.asset
      }
    )
  }

  #findWindow(grant: number, item: number, interval: bigint): ModelWindow | undefined {
    return this.#windows.find((one) => one.grant === grant && one.item === item && one.interval === interval)
  }

  #hasRoom(
    { debitMax, receiveMax }: ModelItem,
    window: ModelWindow,
    { debit, receive }: ModelPayment
  ): boolean {
    const { debited, received } = this.#countedIn(window)
    return (
      debit.asset === window.debitAsset &&
      debited + debit.value <= (debitMax?.value ?? UINT64_MAX) &&
      (receive.asset !== window.receiveAsset || received + receive.value <= (receiveMax?.value ?? UINT64_MAX))
    )
  }

  #takeRoom(id: number, payment: ModelPayment, window: ModelWindow): Answer {
    if (!this.#windows.includes(window)) this.#windows.push(window)
    const { debit, receive, grant } = payment
    const reserved: Omit<Reserved, 'answer'> = {
      ...{ kind: 'reserved', payment, window, settled: false },
      debited: debit.value,
      received: receive.value
    }
    this.#recorded.set(id, { ...reserved, answer: { refused: 'not yet' } })
    const assets = { debitAsset: debit.asset, receiveAsset: receive.asset }
    const answer = { reserved: this.#totals(grant, assets) }
    this.#recorded.set(id, { ...reserved, answer })
    return answer
  }

  #itemsOf(grant: number): readonly ModelItem[] {
    return this.#grants[grant] ?? []
  }

  #intervalOf({ interval }: ModelItem): bigint | undefined {
    return interval === undefined ? 0n : intervalAt(interval, this.nowMs)
  }

  #currentWindows(grant: number): readonly ModelWindow[] {
    return this.#itemsOf(grant).flatMap((item, index) => {
      const interval = this.#intervalOf(item)
      const window = interval === undefined ? undefined : this.#findWindow(grant, index, interval)
      return window === undefined ? [] : [window]
    })
  }

  /** Current sums over all items of a grant, by asset. */
  #totals(
    grant: number,
    { debitAsset, receiveAsset }: Pick<ModelWindow, 'debitAsset' | 'receiveAsset'>
  ): readonly [string, string] {
    const reserved = this.#currentWindows(grant).flatMap((window) => this.#reservedIn(window))
    const debits = reserved.filter(({ payment }) => payment.debit.asset === debitAsset)
    const receipts = reserved.filter(({ payment }) => payment.receive.asset === receiveAsset)
    const debited = sum(debits.map((one) => one.debited))
    const received = sum(receipts.map((one) => one.received))
    return [
      `${String(within64Bits(debited))} ${debitAsset}`,
      `${String(within64Bits(received))} ${receiveAsset}`
    ]
  }

  #countedIn(window: ModelWindow): { readonly debited: bigint; readonly received: bigint } {
    const reserved = this.#reservedIn(window)
    return {
      debited: sum(reserved.map((one) => one.debited)),
      received: sum(reserved.filter(isCounted).map((one) => one.received))
    }
  }

  #reservedIn(window: ModelWindow): readonly Reserved[] {
    return [...this.#recorded.values()].filter(
      (one) => one.kind === 'reserved' && one.window === window
    ) as Reserved[]
  }
}

/** Whether a payment's received amount is counted in its window: only if it is in the window's asset. */
function isCounted({ payment, window }: Reserved): boolean {
  return payment.receive.asset === window.receiveAsset
}

function allows({ receiver, debitMax, receiveMax }: ModelItem, payment: ModelPayment): boolean {
  return (
    (receiver === undefined || receiver === payment.receiver) &&
    (debitMax === undefined || debitMax.asset === payment.debit.asset) &&
    (receiveMax === undefined || receiveMax.asset === payment.receive.asset)
  )
}

function answerAgain(known: Recorded, payment: ModelPayment): Answer {
  const first = known.payment
  if (first !== undefined && (first.grant !== payment.grant || first.receiver !== payment.receiver)) {
    return { error: 'ALREADY_EXISTS', field: 'payment_id' }
  }
  if (known.kind === 'released') return { refused: 'RELEASED' }
  const isForOtherAmounts =
    !isSameAmount(known.payment.debit, payment.debit) || !isSameAmount(known.payment.receive, payment.receive)
  return known.kind === 'reserved' && isForOtherAmounts
    ? { error: 'ABORTED', field: 'payment_id' }
    : known.answer
}

function isSameAmount(a: ModelAmount, b: ModelAmount): boolean {
  return a.value === b.value && a.asset === b.asset
}

/** Totals over several windows may exceed the maximum amount. */
function within64Bits(value: bigint): bigint {
  return value < UINT64_MAX ? value : UINT64_MAX
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}
