import {
  attempt,
  beginPeering,
  fits,
  isDecidable,
  type Manner,
  newSending,
  oweThem,
  oweUs,
  type Peering,
  refusalsOfPacket,
  type Sending
} from './money-model-peers.js'

/** Who has an account and a wallet address: alice and bob in USD, carol in EUR. */
export const OWNERS = ['alice', 'bob', 'carol'] as const
export type Owner = (typeof OWNERS)[number]

/** How long a payment awaits approval. */
export const APPROVAL_TIMEOUT_SECONDS = 600
const BUSY = 'its payment is being sent now: try again in a moment'
/** How long after its end an expiry is told. */
const TOLD_AFTER_MS = 60_000

/** What a rule is about: debits of a wallet address above a value, its first payees, or all payments of the client. */
export type ModelRule =
  | { readonly owner: Owner; readonly above: bigint }
  | { readonly owner: Owner; readonly firstPayee: true }
  | 'all of the client'

/** What can be frozen: the client of all payments, or what belongs to someone. */
export type Freezable = 'client' | { readonly what: 'account' | 'wallet address'; readonly owner: Owner }

/** An operation about what exists. Payments of both directions, rules and refunds are known by numbers, and so are their keys. */
export type Operation =
  | { readonly kind: 'deposit' | 'withdraw'; readonly owner: Owner; readonly value: bigint }
  | {
      readonly kind: 'receive'
      readonly number: number
      readonly owner: Owner
      readonly incoming: bigint | undefined
      readonly expiresAtMs: number
    }
  | { readonly kind: 'complete'; readonly incoming: number }
  | {
      readonly kind: 'pay'
      readonly number: number
      readonly owner: Owner
      readonly incoming: number
      readonly debit: bigint
      /** The payment that it refunds. */
      readonly refundOf: number | undefined
    }
  /** A payment to a new receiver at the other provider, in dollars. */
  | {
      readonly kind: 'pay elsewhere'
      readonly number: number
      readonly owner: Owner
      readonly debit: bigint
    }
  /** The request of a payment again. */
  | { readonly kind: 'repeat'; readonly payment: number }
  | { readonly kind: 'approve' | 'decline'; readonly payment: number }
  /** Has the number of an earlier refund if it has the key of that. */
  | {
      readonly kind: 'refund'
      readonly number: number
      readonly payment: number
      readonly value: bigint
      readonly returnsFee: boolean
    }
  | { readonly kind: 'freeze'; readonly of: Freezable; readonly freezes: boolean }
  | { readonly kind: 'rule'; readonly number: number; readonly rule: ModelRule }
  | { readonly kind: 'unrule'; readonly rule: number }
  | { readonly kind: 'advance'; readonly seconds: number }
  /** A packet of the peer. */
  | {
      readonly kind: 'packet'
      readonly number: number
      readonly incoming: number
      readonly value: bigint
    }
  | { readonly kind: 'packet again'; readonly packet: number }
  /** What the peer does with packets from now on. */
  | { readonly kind: 'manner'; readonly manner: Manner }
  /** What became of a packet whose answer was lost, as the peer's books say. */
  | { readonly kind: 'decide packet'; readonly payment: number; readonly arrived: boolean }
  /** What the peer may owe, or may be owed. */
  | { readonly kind: 'bound'; readonly who: 'they' | 'we'; readonly maximum: bigint | undefined }
  /** Who pays what is owed. */
  | { readonly kind: 'settle'; readonly who: 'they' | 'we'; readonly value: bigint }

interface Account {
  balance: bigint
  frozen: boolean
  addressFrozen: boolean
}

interface Incoming {
  readonly owner: Owner
  readonly maximum: bigint | undefined
  readonly expiresAtMs: number
  received: bigint
  completed: boolean
  expiryTold: boolean
}

type Decision = 'approved' | 'declined' | 'timed_out'

interface Payment {
  readonly owner: Owner
  /** undefined if its receiver is at the other provider. */
  readonly incoming: number | undefined
  /** undefined unless its receiver is at the other provider. */
  readonly sending: Sending | undefined
  readonly debit: bigint
  readonly fee: bigint
  readonly receive: bigint
  readonly refundOf: number | undefined
  readonly held: boolean
  /** When its approval times out; undefined unless it met a rule. */
  readonly decideByMs: number | undefined
  decision: Decision | undefined
  state: 'awaiting_approval' | 'pending' | 'completed' | 'failed'
  reason: string
  sent: bigint
  sentFee: bigint
  delivered: bigint
  refunded: bigint
  /** The part of it that the provider refunded. */
  refundedByProvider: bigint
}

interface Refund {
  readonly payment: number
  readonly value: bigint
  readonly returnsFee: boolean
  /** Whether a payment makes it, which has its number. */
  readonly byPayment: boolean
  state: 'pending' | 'completed' | 'failed'
  taken: bigint
  returned: bigint
  returnedFee: bigint
}

/** What is sent, what of it is the fee, and what is delivered. */
type Settlement = readonly [sent: bigint, fee: bigint, delivered: bigint]

/** Everything that the model knows. */
interface State {
  nowMs: number
  clientFrozen: boolean
  readonly accounts: Record<Owner, Account>
  rules: Readonly<Record<number, ModelRule>>
  readonly incoming: Record<number, Incoming>
  readonly payments: Record<number, Payment>
  readonly refunds: Record<number, Refund>
  readonly peering: Peering
  readonly events: Record<string, string[]>
}

/** What is to be seen of the money: by operators, and as events. Payments and refunds by number, events by subject. */
export interface Shown {
  /** Balance, held, available, and whether it is frozen. */
  readonly accounts: Readonly<Record<Owner, readonly [bigint, bigint, bigint, boolean]>>
  /** State, what was received, and what of it was refunded. */
  readonly incoming: Readonly<Record<number, readonly [string, bigint, bigint]>>
  /** State, reason, what was sent, and what of its delivery was refunded. */
  readonly payments: Readonly<Record<number, readonly [string, string, bigint, bigint]>>
  /** What was decided about those that met a rule; empty while they wait. */
  readonly decisions: Readonly<Record<number, string>>
  /** State, what was taken, what was returned, and what of the fee. */
  readonly refunds: Readonly<Record<number, readonly [string, bigint, bigint, bigint]>>
  /** What the peer owes, and what it is owed. */
  readonly peer: readonly [bigint, bigint]
  /** Pending payments elsewhere: whether they are begun, attempts without a fulfillment, what may have arrived, and whether an attempt is made. */
  readonly sending: Readonly<Record<number, readonly [boolean, number, bigint, boolean]>>
  /** What receivers at the other provider have, by payment. */
  readonly elsewhere: Readonly<Record<number, bigint>>
  readonly events: Readonly<Record<string, readonly string[]>>
}

/**
 * The rules of the money, implemented again as simply as possible: one operation or step at a time, sums computed from the lists
 * whenever they are needed.
 */
export class MoneyModel {
  readonly #state: State
  readonly #holdsFrozen: boolean

  /** @param holdsFrozen whether a freeze holds the pending payments that it is about */
  constructor(state: State, holdsFrozen: boolean) {
    this.#state = state
    this.#holdsFrozen = holdsFrozen
  }

  /** Where everyone has as much. */
  static begin(nowMs: number, balance: bigint, holdsFrozen: boolean): MoneyModel {
    const account = (): Account => ({ balance, frozen: false, addressFrozen: false })
    const accounts = { alice: account(), bob: account(), carol: account() }
    const lists = { rules: {}, incoming: {}, payments: {}, refunds: {}, peering: beginPeering(), events: {} }
    return new MoneyModel({ nowMs, clientFrozen: false, accounts, ...lists }, holdsFrozen)
  }

  copy(): MoneyModel {
    return new MoneyModel(copyOf(this.#state), this.#holdsFrozen)
  }

  /** What it knows, to be read. */
  get known(): Readonly<State> {
    return this.#state
  }

  /**
   * Does an operation.
   *
   * @param together whether a packet is credited in one batch with the one before, which went to the same receiver: they are told as one
   * @returns the answers that it may have: several refusals where it is wrong in several ways
   */
  do(operation: Operation, together = false): readonly string[] {
    const state = this.#state
    switch (operation.kind) {
      case 'deposit':
        state.accounts[operation.owner].balance += operation.value
        return ['done']
      case 'withdraw':
        if (this.available(operation.owner) < operation.value) return ['no money']
        state.accounts[operation.owner].balance -= operation.value
        return ['done']
      case 'receive':
        return this.#receive(operation)
      case 'complete':
        return this.#complete(operation.incoming)
      case 'pay':
        return this.#pay(operation)
      case 'pay elsewhere':
        return this.#payElsewhere(operation)
      case 'repeat':
        return [state.clientFrozen ? 'client frozen' : `created ${String(operation.payment)}`]
      case 'approve':
      case 'decline':
        return [this.#decide(operation)]
      case 'refund':
        return [this.#refund(operation)]
      case 'freeze':
        this.#freeze(operation.of, operation.freezes)
        return ['done']
      case 'rule':
        state.rules = { ...state.rules, [operation.number]: operation.rule }
        return ['done']
      case 'unrule':
        state.rules = Object.fromEntries(entries(state.rules).filter(([number]) => number !== operation.rule))
        return ['done']
      case 'advance':
        state.nowMs += operation.seconds * 1_000
        return ['done']
      case 'packet':
        state.peering.packets[operation.number] = { ...operation, credited: false }
        return this.#receivePacket(operation.number, together)
      case 'packet again':
        return this.#receivePacket(operation.packet, together)
      default:
        return this.#dealWithPeer(operation)
    }
  }

  /** Payments whose approval is over and that nobody declined yet. */
  overdue(): readonly number[] {
    return this.#paymentsWhere((payment) => this.#isOverdue(payment))
  }

  /** Pending payments that are not on hold. */
  processable(): readonly number[] {
    return this.#paymentsWhere(
      (payment) =>
        payment.state === 'pending' &&
        payment.incoming !== undefined &&
        !(this.#isFrozen(payment) && this.#isOpen(payment.incoming))
    )
  }

  /** Pending payments elsewhere that are now begun, attempted or given up. */
  sendable(): readonly number[] {
    const { nowMs } = this.#state
    return this.#paymentsWhere((payment) => {
      const { sending } = payment
      if (payment.state !== 'pending' || sending === undefined) return false
      const isHeld = this.#isFrozen(payment)
      if (sending.begun) return !isHeld && sending.unknown === undefined && sending.dueAtMs <= nowMs
      return sending.beginUntilMs <= nowMs || (!isHeld && (!payment.held || this.#fits(sending)))
    })
  }

  /** Begins one of them, makes an attempt, or gives it up. */
  send(number: number): void {
    const payment = this.payment(number)
    const { sending, held } = payment
    const { nowMs, peering } = this.#state
    if (sending === undefined) throw new Error('its receiver is here')
    if (!sending.begun && !held) this.#end(number, 'insufficient_funds')
    else if (!sending.begun && sending.beginUntilMs <= nowMs) {
      const reason = this.#fits(sending) ? 'rate_changed' : 'receiver_unreachable'
      this.#end(number, this.#isFrozen(payment) ? 'account_frozen' : reason)
    } else if (!sending.begun) {
      sending.begun = true
      sending.dueAtMs = nowMs
    } else {
      const { dispatched, end } = attempt(peering, sending, nowMs)
      for (const value of dispatched) this.#tell('peer', ...oweThem(peering, value))
      this.#count(number, end)
    }
  }

  /** Declines an overdue payment. */
  timeOut(number: number): void {
    const payment = this.payment(number)
    payment.decision = 'timed_out'
    this.#end(number, 'declined_by_provider')
  }

  /**
   * Ends a processable payment.
   *
   * @param together whether in one batch with the payment that was settled before, whose receiver is the same: they are told as one
   */
  settle(number: number, together = false): void {
    const result = this.#settlementOf(this.payment(number))
    if (typeof result === 'string') this.#end(number, result)
    else this.#deliver(number, result, together)
  }

  /** Tells of what expired long enough ago. */
  tellExpiries(): void {
    for (const [number, receiver] of entries(this.#state.incoming)) {
      const isTold = receiver.completed || receiver.expiryTold
      if (isTold || receiver.expiresAtMs >= this.#state.nowMs - TOLD_AFTER_MS) continue
      receiver.expiryTold = true
      this.#tell(`incoming ${String(number)}`, 'incoming_payment.expired')
    }
  }

  payment(number: number): Payment {
    return given(this.#state.payments[number])
  }

  receiver(number: number): Incoming {
    return given(this.#state.incoming[number])
  }

  /** What someone can spend. */
  available(owner: Owner): bigint {
    return this.#state.accounts[owner].balance - this.#held(owner)
  }

  /** What can still be refunded of a payment: nothing of what others have. */
  leftToRefund(number: number): bigint {
    const { incoming, delivered, refunded } = this.payment(number)
    return incoming === undefined ? 0n : delivered - refunded
  }

  /** Payments with a packet of which nothing is known, and that can be decided about. */
  decidable(): readonly number[] {
    return this.#paymentsWhere(
      ({ sending }) => sending !== undefined && isDecidable(sending, this.#state.nowMs)
    )
  }

  /** Whether something can be paid to an incoming payment. */
  isPayable(number: number): boolean {
    return this.#isOpen(number) && !this.#isFrozenOwner(this.receiver(number).owner)
  }

  /** What the grant has spent: of payments that have not ended, all that they may. Debits, then what is received. */
  spent(): readonly [bigint, bigint] {
    const all = Object.values(this.#state.payments).map((payment) =>
      isEnded(payment) ? [payment.sent, payment.delivered] : [payment.debit, payment.receive]
    )
    return [sum(all.map(([debit = 0n]) => debit)), sum(all.map(([, received = 0n]) => received))]
  }

  /** What is to be seen of it. */
  show(): Shown {
    const { accounts, payments, refunds, incoming, peering, events } = this.#state
    const refundedOf = (number: number): bigint =>
      sum(
        Object.values(payments)
          .filter((payment) => payment.incoming === number)
          .map(({ refunded }) => refunded)
      )
    const account = (owner: Owner): Shown['accounts'][Owner] => {
      const { balance, frozen } = accounts[owner]
      return [balance, this.#held(owner), this.available(owner), frozen]
    }
    return {
      accounts: { alice: account('alice'), bob: account('bob'), carol: account('carol') },
      incoming: mapped(incoming, (one, number) => [
        one.completed ? 'completed' : one.expiresAtMs <= this.#state.nowMs ? 'expired' : 'pending',
        one.received,
        refundedOf(number)
      ]),
      payments: mapped(payments, ({ state, reason, sent, refunded }) => [state, reason, sent, refunded]),
      decisions: Object.fromEntries(
        entries(payments).flatMap(([number, { decideByMs, decision = '' }]) =>
          decideByMs === undefined ? [] : [[number, decision]]
        )
      ),
      refunds: mapped(refunds, ({ state, taken, returned, returnedFee }) => [
        state,
        taken,
        returned,
        returnedFee
      ]),
      peer: [peering.theyOwe, peering.weOwe],
      sending: this.#ofSendings(({ begun, attempts, unknown }, { state }) =>
        state === 'pending' ? [begun, attempts, unknown?.value ?? 0n, false] : undefined
      ),
      elsewhere: this.#ofSendings(({ received }) => received),
      events: copyOf(events)
    }
  }

  #receive({ number, owner, incoming, expiresAtMs }: Extract<Operation, { kind: 'receive' }>): string[] {
    if (this.#state.clientFrozen) return ['client frozen']
    const refusals = [
      ...(expiresAtMs > this.#state.nowMs ? [] : ['invalid expiresAt: must be in the future']),
      ...(this.#isFrozenOwner(owner) ? ['the wallet address cannot be used now'] : [])
    ]
    if (refusals.length > 0) return refusals
    this.#state.incoming[number] = {
      ...{ owner, maximum: incoming, expiresAtMs },
      ...{ received: 0n, completed: false, expiryTold: false }
    }
    this.#tell(`incoming ${String(number)}`, 'incoming_payment.created')
    return [`created ${String(number)}`]
  }

  #complete(number: number): string[] {
    if (this.#state.clientFrozen) return ['client frozen']
    const receiver = this.receiver(number)
    if (receiver.completed) return ['the incoming payment is already completed']
    if (!this.#isOpen(number)) return ['the incoming payment has expired']
    receiver.completed = true
    this.#tell(`incoming ${String(number)}`, 'incoming_payment.completed')
    return ['done']
  }

  #pay({ number, owner, incoming, debit, refundOf }: Extract<Operation, { kind: 'pay' }>): string[] {
    if (this.#state.clientFrozen) return ['client frozen']
    const receiver = this.receiver(incoming)
    const { fee, receive } = termsOf(owner, debit, receiver.owner === 'carol')
    const refusals = [
      ...(this.isPayable(incoming) && this.#room(receiver) >= receive ? [] : ['invalid receiver']),
      ...(refundOf === undefined || this.#canRefund(refundOf, owner, receiver.owner, debit - fee)
        ? []
        : ['invalid refund']),
      ...(this.#isFrozenOwner(owner) ? ['account frozen'] : [])
    ]
    if (refusals.length > 0) return refusals
    const terms = { owner, incoming, debit, fee, receive, refundOf, sending: undefined }
    this.#createPayment(number, terms, receiver.owner)
    if (refundOf !== undefined) {
      const value = debit - fee
      this.payment(refundOf).refunded += value
      this.#state.refunds[number] = {
        ...{ payment: refundOf, value, returnsFee: false, byPayment: true, state: 'pending' },
        ...{ taken: 0n, returned: 0n, returnedFee: 0n }
      }
      this.#tell(`refund ${String(number)}`, 'refund.created')
    }
    return [`created ${String(number)}`]
  }

  #payElsewhere({ number, owner, debit }: Extract<Operation, { kind: 'pay elsewhere' }>): string[] {
    const { nowMs, clientFrozen, peering } = this.#state
    if (clientFrozen) return ['client frozen']
    const refusals = [
      ...(peering.manner.then === 'is down' ? ['temporarily unavailable'] : []),
      ...(this.#isFrozenOwner(owner) ? ['account frozen'] : [])
    ]
    if (refusals.length > 0) return refusals
    const { fee, receive } = termsOf(owner, debit, false)
    const sending = newSending(receive, nowMs)
    const terms = { owner, incoming: undefined, debit, fee, receive, refundOf: undefined, sending }
    this.#createPayment(number, terms, undefined)
    return [`created ${String(number)}`]
  }

  /** @param payee undefined if it is at the other provider */
  #createPayment(
    number: number,
    terms: Pick<Payment, 'owner' | 'incoming' | 'debit' | 'fee' | 'receive' | 'refundOf' | 'sending'>,
    payee: Owner | undefined
  ): void {
    const { owner, debit } = terms
    const needsApproval = Object.values(this.#state.rules).some((rule) =>
      this.#meets(rule, owner, debit, payee)
    )
    this.#state.payments[number] = {
      ...{ ...terms, held: this.available(owner) >= debit },
      decideByMs: needsApproval ? this.#state.nowMs + APPROVAL_TIMEOUT_SECONDS * 1_000 : undefined,
      ...{ decision: undefined, state: needsApproval ? 'awaiting_approval' : 'pending', reason: '' },
      ...{ sent: 0n, sentFee: 0n, delivered: 0n, refunded: 0n, refundedByProvider: 0n }
    }
    const subject = `payment ${String(number)}`
    this.#tell(subject, 'outgoing_payment.created')
    if (needsApproval) this.#tell(subject, 'outgoing_payment.awaiting_approval')
  }

  #meets(rule: ModelRule, owner: Owner, debit: bigint, payee: Owner | undefined): boolean {
    if (rule === 'all of the client') return true
    if (rule.owner !== owner) return false
    if ('above' in rule) return debit > rule.above
    // Nobody elsewhere is ever known.
    return !Object.values(this.#state.payments).some(
      (payment) =>
        payment.owner === owner &&
        payment.delivered > 0n &&
        payment.incoming !== undefined &&
        this.receiver(payment.incoming).owner === payee
    )
  }

  /** Whether someone can give back a value of a payment to someone. */
  #canRefund(number: number, from: Owner, to: Owner, value: bigint): boolean {
    const original = this.payment(number)
    return (
      original.delivered > 0n &&
      original.incoming !== undefined &&
      this.receiver(original.incoming).owner === from &&
      original.owner === to &&
      value <= this.leftToRefund(number)
    )
  }

  #decide({ kind, payment: number }: { kind: 'approve' | 'decline'; payment: number }): string {
    const payment = this.payment(number)
    if (payment.decideByMs === undefined) return 'met no rule'
    if (this.#isOverdue(payment)) this.timeOut(number)
    else if (payment.decision === undefined && kind === 'approve') {
      payment.decision = 'approved'
      payment.state = 'pending'
      this.#tell(`payment ${String(number)}`, 'outgoing_payment.processing')
    } else if (payment.decision === undefined) {
      payment.decision = 'declined'
      this.#end(number, 'declined_by_provider')
    }
    return (payment.decision === 'approved') === (kind === 'approve')
      ? 'done'
      : `was ${String(payment.decision)}`
  }

  #refund({ number, payment, value, returnsFee }: Extract<Operation, { kind: 'refund' }>): string {
    const earlier = this.#state.refunds[number]
    if (earlier !== undefined) {
      const isSame =
        earlier.payment === payment && earlier.value === value && earlier.returnsFee === returnsFee
      return isSame ? `created ${String(number)}` : 'the key was used for another refund'
    }
    const original = this.payment(payment)
    if (!isEnded(original)) return 'the payment has not ended yet'
    if (original.delivered === 0n) return 'the payment failed and delivered nothing'
    if (original.incoming === undefined)
      return 'it was delivered to another provider, where the receiver pays it back'
    const receiver = this.receiver(original.incoming).owner
    if (this.available(receiver) < value) return "the receiver's account has less than that available"
    const left = this.leftToRefund(payment)
    if (left < value) return `no more than ${String(left)} is left to refund`
    const from = original.refundedByProvider
    const shareOf = (whole: bigint): bigint =>
      (whole * (from + value)) / original.delivered - (whole * from) / original.delivered
    const returned = shareOf(original.sent - original.sentFee)
    const returnedFee = returnsFee ? shareOf(original.sentFee) : 0n
    original.refunded += value
    original.refundedByProvider += value
    this.#state.accounts[receiver].balance -= value
    this.#state.accounts[original.owner].balance += returned + returnedFee
    this.#state.refunds[number] = {
      ...{
        payment,
        value,
        returnsFee,
        byPayment: false,
        state: 'completed',
        taken: value,
        returned,
        returnedFee
      }
    }
    this.#tell(`refund ${String(number)}`, 'refund.created', 'refund.completed')
    return `created ${String(number)}`
  }

  #freeze(of: Freezable, freezes: boolean): void {
    if (of === 'client') {
      this.#state.clientFrozen = freezes
      return
    }
    const account = this.#state.accounts[of.owner]
    const field = of.what === 'account' ? 'frozen' : 'addressFrozen'
    if (account[field] === freezes) return
    account[field] = freezes
    this.#tell(`${of.what} ${of.owner}`, `${of.what.replace(' ', '_')}.${freezes ? 'frozen' : 'unfrozen'}`)
  }

  /** What a payment sends, what of it is the fee, and what it delivers; or why it sends nothing. */
  #settlementOf(payment: Payment): string | Settlement {
    const { debit, fee, receive, incoming } = payment
    if (incoming === undefined) throw new Error('its receiver is elsewhere')
    const receiver = this.receiver(incoming)
    if (!payment.held) return 'insufficient_funds'
    if (!this.#isOpen(incoming)) {
      if (this.#isFrozen(payment)) return 'account_frozen'
      return receiver.completed ? 'receiver_completed' : 'receiver_expired'
    }
    const room = this.#room(receiver)
    if (room >= receive) return [debit, fee, receive]
    const part = partOf(payment, room)
    return part[2] === 0n ? 'receiver_full' : part
  }

  #deliver(number: number, settlement: Settlement, together: boolean): void {
    const payment = this.payment(number)
    if (payment.incoming === undefined) throw new Error('its receiver is elsewhere')
    this.#debit(payment, settlement)
    this.#credit(payment.incoming, settlement[2], together)
    this.#end(number, payment.sent === payment.debit ? '' : 'partially_delivered')
  }

  #debit(payment: Payment, [sent, sentFee, delivered]: Settlement): void {
    Object.assign(payment, { sent, sentFee, delivered })
    this.#state.accounts[payment.owner].balance -= sent
  }

  #credit(incoming: number, value: bigint, together: boolean): void {
    const receiver = this.receiver(incoming)
    this.#state.accounts[receiver.owner].balance += value
    receiver.received += value
    const subject = `incoming ${String(incoming)}`
    if (!together) this.#tell(subject, 'incoming_payment.received')
    if (this.#room(receiver) > 0n) return
    receiver.completed = true
    this.#tell(subject, 'incoming_payment.completed')
  }

  /** Counts what a payment elsewhere has delivered. @param end why nothing more is; undefined if something may be */
  #count(number: number, end: string | undefined): void {
    const payment = this.payment(number)
    const delivered = payment.sending?.delivered ?? 0n
    const part: Settlement =
      delivered === payment.receive
        ? [payment.debit, payment.fee, payment.receive]
        : partOf(payment, delivered)
    if (end === undefined) {
      payment.sent = part[0]
      return
    }
    this.#debit(payment, part)
    const failed = part[2] === 0n ? end : 'partially_delivered'
    this.#end(number, delivered === payment.receive ? '' : failed)
  }

  /** Credits a packet, once. */
  #receivePacket(number: number, together: boolean): string[] {
    const { peering } = this.#state
    const packet = given(peering.packets[number])
    if (packet.credited) return ['fulfill']
    const { incoming, value } = packet
    const receiver = this.receiver(incoming)
    const brings = receiver.owner === 'carol' ? (value * 9n) / 10n : value
    if (brings === 0n) return ['R01']
    const refusals = [
      ...(this.#isOpen(incoming) && this.#room(receiver) >= brings ? [] : ['F99']),
      ...(this.#isFrozenOwner(receiver.owner) ? ['T00'] : []),
      ...refusalsOfPacket(peering, value)
    ]
    if (refusals.length > 0) return refusals
    packet.credited = true
    this.#tell('peer', ...oweUs(peering, value))
    this.#credit(incoming, brings, together)
    return ['fulfill']
  }

  #dealWithPeer(
    operation: Extract<Operation, { kind: 'manner' | 'decide packet' | 'bound' | 'settle' }>
  ): string[] {
    const { peering } = this.#state
    switch (operation.kind) {
      case 'manner':
        peering.manner = operation.manner
        return ['done']
      case 'decide packet':
        return this.#decidePacket(operation.payment, operation.arrived)
      case 'bound':
        if (operation.who === 'they') peering.theyOweMaximum = operation.maximum
        else peering.weOweMaximum = operation.maximum
        return ['done']
      case 'settle':
        if (operation.who === 'they') peering.theyOwe -= operation.value
        else peering.weOwe -= operation.value
        return ['done']
    }
  }

  /** Decides about the packet of a payment of which nothing is known. The payment goes on. */
  #decidePacket(number: number, arrived: boolean): string[] {
    const { nowMs, peering } = this.#state
    const { sending } = this.payment(number)
    // Whoever decides at the same time may have had it sent again.
    if (sending?.unknown === undefined || !isDecidable(sending, nowMs)) return ['nothing to decide', BUSY]
    const { value } = sending.unknown
    sending.unknown = undefined
    sending.dueAtMs = nowMs
    if (!arrived) return ['done']
    sending.delivered += value
    this.#tell('peer', ...oweThem(peering, value))
    return ['done']
  }

  /** @param reason why it failed; empty if it is completed */
  #end(number: number, reason: string): void {
    const payment = this.payment(number)
    payment.state = reason === '' ? 'completed' : 'failed'
    payment.reason = reason
    this.#tell(`payment ${String(number)}`, `outgoing_payment.${payment.state}`)
    if (payment.refundOf === undefined) return
    const refund = given(this.#state.refunds[number])
    refund.taken = payment.sent - payment.sentFee
    refund.returned = payment.delivered
    refund.state = refund.taken > 0n ? 'completed' : 'failed'
    this.payment(payment.refundOf).refunded -= refund.value - refund.taken
    this.#tell(`refund ${String(number)}`, `refund.${refund.state}`)
  }

  #tell(subject: string, ...types: readonly string[]): void {
    if (types.length > 0) (this.#state.events[subject] ??= []).push(...types)
  }

  #held(owner: Owner): bigint {
    const holding = (payment: Payment): boolean =>
      payment.owner === owner && payment.held && !isEnded(payment)
    return sum(
      Object.values(this.#state.payments)
        .filter(holding)
        .map(({ debit }) => debit)
    )
  }

  #isOpen(number: number): boolean {
    const { completed, expiresAtMs } = this.receiver(number)
    return !completed && expiresAtMs > this.#state.nowMs
  }

  #room({ maximum = 2n ** 64n - 1n, received }: Incoming): bigint {
    return maximum - received
  }

  #isFrozenOwner(owner: Owner): boolean {
    const { frozen, addressFrozen } = this.#state.accounts[owner]
    return frozen || addressFrozen
  }

  /** Whether a freeze that holds payments is about this one. */
  #isFrozen({ owner, incoming }: Payment): boolean {
    if (!this.#holdsFrozen) return false
    return (
      this.#state.clientFrozen ||
      this.#isFrozenOwner(owner) ||
      (incoming !== undefined && this.#isFrozenOwner(this.receiver(incoming).owner))
    )
  }

  #fits(sending: Sending): boolean {
    const pending = Object.values(this.#state.payments).filter((payment) => !isEnded(payment))
    const others = pending.flatMap((payment) => payment.sending ?? [])
    return fits(this.#state.peering, sending, others)
  }

  /** What is to be said of payments elsewhere, by number; nothing of those of which it is undefined. */
  #ofSendings<Value>(read: (sending: Sending, payment: Payment) => Value | undefined): Record<number, Value> {
    return Object.fromEntries(
      entries(this.#state.payments).flatMap(([number, payment]) => {
        const value = payment.sending && read(payment.sending, payment)
        return value === undefined ? [] : [[number, value]]
      })
    )
  }

  #isOverdue({ state, decideByMs }: Payment): boolean {
    return state === 'awaiting_approval' && decideByMs !== undefined && decideByMs <= this.#state.nowMs
  }

  #paymentsWhere(holds: (payment: Payment) => boolean): readonly number[] {
    return entries(this.#state.payments).flatMap(([number, payment]) => (holds(payment) ? [number] : []))
  }
}

/** What a payment costs beside what it brings, and what the receiver gets: dollars, or euros. */
function termsOf(
  owner: Owner,
  debit: bigint,
  inEuros: boolean
): { readonly fee: bigint; readonly receive: bigint } {
  // A tenth of what is paid in dollars. A euro costs 1 / 0.9 dollars, and brings 1.1.
  const fee = owner === 'carol' ? 0n : ceil(debit, 10n)
  const factor = (owner === 'carol') === inEuros ? 10n : owner === 'carol' ? 11n : 9n
  return { fee, receive: ((debit - fee) * factor) / 10n }
}

/** What a payment sends that delivers less than everything. */
function partOf({ debit, fee, receive }: Payment, room: bigint): Settlement {
  // A failed payment keeps a unit of its debit.
  const covered = ((debit - 1n) * receive) / debit
  const part = room < covered ? room : covered
  const sent = ceil(debit * part, receive)
  return [sent, sent - ceil((debit - fee) * part, receive), part]
}

function isEnded({ state }: Payment): boolean {
  return state === 'completed' || state === 'failed'
}

/** @throws Error when there is none: an operation is about something that does not exist */
function given<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('there is no such thing')
  return value
}

/** A deep copy of plain data. Other than that of `structuredClone`, its prototypes are those of this module. */
function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as Value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, copyOf(part as unknown)])
  ) as Value
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

function ceil(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

/** The entries of what is known by number. */
export function entries<Value>(record: Readonly<Record<number, Value>>): [number, Value][] {
  return Object.entries(record).map(([number, value]) => [Number(number), value])
}

function mapped<Value, Result>(
  record: Readonly<Record<number, Value>>,
  map: (value: Value, number: number) => Result
): Record<number, Result> {
  return Object.fromEntries(entries(record).map(([number, value]) => [number, map(value, number)]))
}
