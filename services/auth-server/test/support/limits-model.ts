import type { Answer } from './grpc-fixture.js'

/** An access item of the model: amounts per hour, counted from hour 0 of the model's time. All debits are in USD. */
export interface ModelItem {
  readonly receiver?: string
  readonly debitMax?: bigint
  /** In USD. */
  readonly receiveMax?: bigint
  /** `hours` intervals of one hour; the whole grant when absent. */
  readonly hours?: number
}

/** A payment of the model. */
export interface ModelPayment {
  readonly grant: number
  readonly debit: bigint
  readonly receive: bigint
  readonly asset: 'USD' | 'EUR'
  readonly receiver: string
}

interface Held {
  readonly kind: 'held'
  readonly payment: ModelPayment
  readonly window: ModelWindow
  readonly counted: boolean
  readonly answer: Answer
  open: boolean
  debited: bigint
  received: bigint
}

type Recorded =
  | Held
  | { readonly kind: 'refused'; readonly payment: ModelPayment; readonly answer: Answer }
  | { readonly kind: 'released'; readonly payment: ModelPayment | undefined }

/** What was spent of one item in one hour. */
export interface ModelWindow {
  readonly grant: number
  readonly item: number
  readonly hour: number
  readonly asset: string
  debited: bigint
  received: bigint
}

/**
 * The rules of the limits, said again as plainly as possible and one call at a time: sums are added up from the list of
 * reservations whenever they are needed, and nothing is counted.
 */
export class LimitsModel {
  /** Minutes since the first hour began. */
  minutes = 0
  readonly #recorded = new Map<number, Recorded>()
  readonly #windows: ModelWindow[] = []

  constructor(private readonly grants: readonly (readonly ModelItem[])[]) {}

  reserve(id: number, payment: ModelPayment): Answer {
    const known = this.#recorded.get(id)
    if (known !== undefined) return answerAgain(known, payment)
    const answer = this.#tryItems(id, payment)
    if ('refused' in answer) this.#recorded.set(id, { kind: 'refused', payment, answer })
    return answer
  }

  settle(id: number, debited: bigint, received: bigint): string {
    const known = this.#recorded.get(id)
    if (known === undefined) return 'NOT_FOUND'
    if (known.kind !== 'held') return 'FAILED_PRECONDITION'
    if (debited > known.payment.debit) return 'INVALID_ARGUMENT debited_value'
    if (received > known.payment.receive) return 'INVALID_ARGUMENT received_value'
    if (!known.open) {
      return known.debited === debited && known.received === received ? 'OK' : 'FAILED_PRECONDITION'
    }
    Object.assign(known, { open: false, debited, received })
    return 'OK'
  }

  release(id: number): string {
    const known = this.#recorded.get(id)
    if (known?.kind === 'held' && !known.open) return 'FAILED_PRECONDITION'
    if (known?.kind !== 'refused') this.#recorded.set(id, { kind: 'released', payment: known?.payment })
    return 'OK'
  }

  /** What a grant has spent in the current hour, as `[debited, received]`; undefined before any payment. */
  spent(grant: number): readonly [string, string] | undefined {
    const [first] = this.#currentWindows(grant)
    return first && this.#totals(grant, first.asset)
  }

  /** Every window that was ever used, with what it must count. */
  windows(): readonly ModelWindow[] {
    return this.#windows.map((window) => {
      const held = this.#heldIn(window)
      return {
        ...window,
        debited: sum(held.map(({ debited }) => debited)),
        received: sum(held.filter(({ counted }) => counted).map(({ received }) => received))
      }
    })
  }

  #tryItems(id: number, payment: ModelPayment): Answer {
    const items = this.grants[payment.grant] ?? []
    let outside = 0
    let allowing = 0
    for (const [index, item] of items.entries()) {
      if (item.receiver !== undefined && item.receiver !== payment.receiver) continue
      if (item.receiveMax !== undefined && payment.asset !== 'USD') continue
      allowing += 1
      const hour = this.#hourOf(item)
      if (hour === undefined) outside += 1
      else if (this.#fits(item, index, hour, payment)) return this.#hold(id, payment, index, hour)
    }
    return { refused: allowing > 0 && outside === allowing ? 'OUTSIDE_INTERVAL' : 'LIMIT_EXCEEDED' }
  }

  #fits(item: ModelItem, index: number, hour: number, payment: ModelPayment): boolean {
    const held = this.#heldIn({ grant: payment.grant, item: index, hour })
    const debited = sum(held.map((one) => one.debited)) + payment.debit
    const received = sum(held.map((one) => one.received)) + payment.receive
    return (
      (item.debitMax === undefined || debited <= item.debitMax) &&
      (item.receiveMax === undefined || received <= item.receiveMax)
    )
  }

  #hold(id: number, payment: ModelPayment, item: number, hour: number): Answer {
    const { grant, asset } = payment
    const existing = this.#windows.find(
      (one) => one.grant === grant && one.item === item && one.hour === hour
    )
    const window = existing ?? { grant, item, hour, asset, debited: 0n, received: 0n }
    if (existing === undefined) this.#windows.push(window)
    const held = { kind: 'held' as const, payment, window, counted: window.asset === asset, open: true }
    const amounts = { debited: payment.debit, received: payment.receive }
    this.#recorded.set(id, { ...held, ...amounts, answer: { refused: 'not yet' } })
    const answer = { reserved: this.#totals(grant, asset) }
    this.#recorded.set(id, { ...held, ...amounts, answer })
    return answer
  }

  #hourOf({ hours }: ModelItem): number | undefined {
    if (hours === undefined) return 0
    const hour = Math.floor(this.minutes / 60)
    return hour < hours ? hour : undefined
  }

  #currentWindows(grant: number): readonly ModelWindow[] {
    return (this.grants[grant] ?? []).flatMap((item, index) =>
      this.#windows.filter(
        (one) => one.grant === grant && one.item === index && one.hour === this.#hourOf(item)
      )
    )
  }

  #totals(grant: number, asset: string): readonly [string, string] {
    const held = this.#currentWindows(grant).flatMap((window) => this.#heldIn(window))
    const debited = sum(held.map((one) => one.debited))
    const received = sum(held.filter(({ payment }) => payment.asset === asset).map((one) => one.received))
    return [`${String(debited)} USD`, `${String(received)} ${asset}`]
  }

  #heldIn({ grant, item, hour }: Pick<ModelWindow, 'grant' | 'item' | 'hour'>): readonly Held[] {
    return [...this.#recorded.values()].filter(
      (one): one is Held =>
        one.kind === 'held' &&
        one.window.grant === grant &&
        one.window.item === item &&
        one.window.hour === hour
    )
  }
}

function answerAgain(known: Recorded, payment: ModelPayment): Answer {
  if (known.kind === 'released') return { refused: 'RELEASED' }
  if (known.payment !== undefined && !isSame(known.payment, payment)) {
    return { error: 'ALREADY_EXISTS', field: 'payment_id' }
  }
  return known.answer
}

function isSame(a: ModelPayment, b: ModelPayment): boolean {
  return (
    a.grant === b.grant &&
    a.debit === b.debit &&
    a.receive === b.receive &&
    a.asset === b.asset &&
    a.receiver === b.receiver
  )
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}
