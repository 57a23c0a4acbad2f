import {
  attempt,
  BEGIN_WITHIN_SECONDS,
  beginPeering,
  HELD_PAUSE_MS,
  isOver,
  fits,
  isDecidable,
  newSending,
  oweThem,
  oweUs,
  payThem,
  PAID_AFTER_TERMS_SECONDS,
  refusalsOfPacket,
  type Sending
} from './money-model-peers.js'
import type { Freezable, ModelRule, Operation, Owner, PeerOperation } from './money-operations.js'
import {
  type Account,
  copyOf,
  entries,
  given,
  type Incoming,
  isEnded,
  mapped,
  partElsewhere,
  partOf,
  type Payment,
  type Settlement,
  type Shown,
  type State,
  sum,
  termsOf
} from './money-state.js'

/** How long a payment awaits approval, unless its terms end before. */
export const APPROVAL_TIMEOUT_SECONDS = 600
const BUSY = 'its payment is being sent now: try again in a moment'
/** How long after its end an expiry is told. */
const TOLD_AFTER_MS = 60_000

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
      default:
        return this.#dealWithPeer(operation, together)
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
        !(this.#isFrozen(payment) && this.#isOpen(payment.incoming) && !this.#areTermsOver(payment))
    )
  }

  /** Pending payments elsewhere that are now begun, attempted or given up. */
  sendable(): readonly number[] {
    const { nowMs } = this.#state
    return this.#paymentsWhere((payment) => {
      const { sending } = payment
      if (payment.state !== 'pending' || sending === undefined) return false
      const isHeld = this.#isFrozen(payment)
      if (sending.begun && sending.unknown !== undefined) return false
      if (sending.begun && isHeld) return isOver(sending, nowMs) && sending.dueAtMs <= nowMs - HELD_PAUSE_MS
      if (sending.begun) return sending.dueAtMs <= nowMs
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
    } else if (this.#isFrozen(payment)) this.#count(number, 'account_frozen')
    else {
      const { dispatched, end } = attempt(peering, sending, nowMs)
      for (const value of dispatched) this.#tell('peer', ...oweThem(peering, value))
      this.#count(number, end)
      if (payment.state === 'pending' && dispatched.length > 0) this.#tellPart(number)
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
      peer: [
        ...([peering.theyOwe, peering.weOwe] as const),
        ...([peering.theyOweMaximum?.toString() ?? '', peering.weOweMaximum?.toString() ?? ''] as const)
      ],
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
    const isExchanged = (owner === 'carol') !== (receiver.owner === 'carol')
    const termsEndMs = isExchanged ? this.#state.nowMs + BEGIN_WITHIN_SECONDS * 1_000 : undefined
    const terms = { owner, incoming, debit, fee, receive, refundOf, sending: undefined, termsEndMs }
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
    const none = { incoming: undefined, refundOf: undefined, termsEndMs: undefined }
    const terms = { ...none, owner, debit, fee, receive, sending }
    this.#createPayment(number, terms, undefined)
    return [`created ${String(number)}`]
  }

  /** @param payee undefined if it is at the other provider */
  #createPayment(
    number: number,
    terms: Pick<
      Payment,
      'owner' | 'incoming' | 'debit' | 'fee' | 'receive' | 'refundOf' | 'sending' | 'termsEndMs'
    >,
    payee: Owner | undefined
  ): void {
    const { owner, debit, sending, termsEndMs } = terms
    const decideByMs = this.#state.nowMs + APPROVAL_TIMEOUT_SECONDS * 1_000
    const needsApproval = Object.values(this.#state.rules).some((rule) =>
      this.#meets(rule, owner, debit, payee)
    )
    this.#state.payments[number] = {
      ...{ ...terms, held: this.available(owner) >= debit },
      decideByMs: needsApproval
        ? Math.min(decideByMs, sending?.beginUntilMs ?? termsEndMs ?? decideByMs)
        : undefined,
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
    // Otherwise it would wait.
    if (this.#isFrozen(payment)) return 'account_frozen'
    const delayedMs = payment.decideByMs === undefined ? PAID_AFTER_TERMS_SECONDS * 1_000 : 0
    if (this.#areTermsOver(payment, delayedMs)) return 'rate_changed'
    if (!this.#isOpen(incoming)) return receiver.completed ? 'receiver_completed' : 'receiver_expired'
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
    const settlement = partElsewhere(payment, delivered)
    if (end === undefined) {
      payment.sent = settlement[0]
      return
    }
    this.#debit(payment, settlement)
    const failed = delivered === 0n ? end : 'partially_delivered'
    this.#end(number, settlement[2] === payment.receive ? '' : failed)
  }

  /** Credits a packet, once. */
  #receivePacket(number: number, together: boolean): string[] {
    const { peering } = this.#state
    const packet = given(peering.packets[number])
    if (packet.credited) return ['fulfill']
    const { incoming, value } = packet
    const receiver = this.receiver(incoming)
    const brings = receiver.owner === 'carol' ? (value * 9n) / 10n : value
    // The peer wants one unit to arrive at least.
    if (brings === 0n) return ['F99']
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

  #dealWithPeer(operation: PeerOperation, together: boolean): string[] {
    const { peering } = this.#state
    switch (operation.kind) {
      case 'packet':
        peering.packets[operation.number] = { ...operation, credited: false }
        return this.#receivePacket(operation.number, together)
      case 'packet again':
        return this.#receivePacket(operation.packet, together)
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
        else this.#tell('peer', ...payThem(peering, operation.value))
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
    if (sending.delivered < sending.value) this.#tellPart(number)
    return ['done']
  }

  /** Tells that a part was delivered, and the rest must wait. */
  #tellPart(number: number): void {
    this.#tell(`payment ${String(number)}`, 'outgoing_payment.partially_sent')
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

  /** Whether the terms of a payment here ended, so many milliseconds ago at least. */
  #areTermsOver({ termsEndMs }: Payment, forMs = 0): boolean {
    return termsEndMs !== undefined && termsEndMs + forMs <= this.#state.nowMs
  }

  #isOverdue({ state, decideByMs }: Payment): boolean {
    return state === 'awaiting_approval' && decideByMs !== undefined && decideByMs <= this.#state.nowMs
  }

  #paymentsWhere(holds: (payment: Payment) => boolean): readonly number[] {
    return entries(this.#state.payments).flatMap(([number, payment]) => (holds(payment) ? [number] : []))
  }
}
