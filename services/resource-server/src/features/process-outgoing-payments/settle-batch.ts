import { type QuotedAmounts, UINT64_MAX } from '@open-payments-server/amounts'
import { insufficientBalance, settle, type Settlement } from '../../domain/settlement.js'

/** A pending payment that this process has claimed. */
export interface ClaimedPayment {
  /** Id (UUID). */
  readonly id: string
  /** Id (UUID) of the incoming payment it pays; undefined when its URL names none. */
  readonly incomingPaymentId: string | undefined
  readonly amounts: QuotedAmounts
  /** Id (UUID) of the sender's account. */
  readonly senderAccountId: string
  /** Ids of the assets. */
  readonly debitAssetId: number
  readonly receiveAssetId: number
  /** Whether the sender's money is held for it. */
  readonly held: boolean
}

/** An incoming payment whose row is locked. */
export interface LockedReceiver {
  /** Id (UUID). */
  readonly id: string
  /** Id (UUID) of the receiver's account. */
  readonly accountId: string
  /** Most that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  readonly expiresAtMs: number
}

/** The provider's own accounts in one asset, by what they are for: ids (UUID). */
export interface ProviderAccounts {
  readonly clearing: string
  readonly exchange: string
  readonly fees: string
}

/** A transfer to be written, posted. */
export interface PostedTransfer {
  readonly kind: 'fee' | 'delivery' | 'conversion'
  /** Id (UUID) of the outgoing payment. */
  readonly paymentId: string
  readonly debitAccountId: string
  readonly creditAccountId: string
  readonly assetId: number
  readonly amount: bigint
  /** Id (UUID) of the incoming payment, where it credits the receiver. */
  readonly incomingPaymentId: string | undefined
}

/** How the totals of a wallet account change. */
export interface TotalsChange {
  /** Id (UUID). */
  readonly accountId: string
  readonly debitsPending: bigint
  readonly debitsPosted: bigint
  readonly creditsPosted: bigint
}

/** Everything that a batch of payments changes. */
export interface SettledBatch {
  readonly endings: readonly {
    readonly id: string
    readonly held: boolean
    readonly settlement: Settlement
  }[]
  readonly transfers: readonly PostedTransfer[]
  readonly totals: readonly TotalsChange[]
  /** What each incoming payment receives, by its id. */
  readonly received: ReadonlyMap<string, bigint>
  /** How many incoming payments have received all they asked for by it. */
  readonly filledCount: number
}

/**
 * Settles a batch of payments one after the other, as if each were alone: what one delivers, the next finds gone from the
 * receiver's room.
 *
 * @param receivers the incoming payments, locked, by id; those that do not exist are missing
 * @param provider the provider's accounts, by asset id
 */
export function settleBatch(
  payments: readonly ClaimedPayment[],
  receivers: ReadonlyMap<string, LockedReceiver>,
  provider: ReadonlyMap<number, ProviderAccounts>,
  nowMs: number
): SettledBatch {
  const received = new Map<string, bigint>()
  const totals = new Totals()
  const settled = payments.map((payment) => {
    const receiver = receivers.get(payment.incomingPaymentId ?? '')
    const already = received.get(payment.incomingPaymentId ?? '') ?? 0n
    const settlement = payment.held
      ? settle(payment.amounts, roomOf(receiver, already, nowMs))
      : insufficientBalance()
    if (payment.held) {
      totals.change(payment.senderAccountId, {
        debitsPending: -payment.amounts.debit,
        debitsPosted: settlement.sent
      })
    }
    if (receiver !== undefined && settlement.delivered > 0n) {
      received.set(receiver.id, already + settlement.delivered)
      totals.change(receiver.accountId, { creditsPosted: settlement.delivered })
    }
    return { payment, receiver, settlement }
  })
  return {
    endings: settled.map(({ payment, settlement }) => ({ id: payment.id, held: payment.held, settlement })),
    transfers: settled.flatMap(({ payment, receiver, settlement }) =>
      receiver === undefined ? [] : transfersOf(payment, receiver, settlement, provider)
    ),
    totals: totals.changes(),
    received,
    filledCount: [...received].filter(([id, value]) => isFilled(receivers.get(id), value)).length
  }
}

/** Whether what it receives is the last that it takes. */
function isFilled(receiver: LockedReceiver | undefined, received: bigint): boolean {
  return receiver?.incomingValue !== undefined && receiver.receivedValue + received >= receiver.incomingValue
}

function roomOf(
  receiver: LockedReceiver | undefined,
  already: bigint,
  nowMs: number
): Parameters<typeof settle>[1] {
  if (receiver === undefined) return undefined
  const receivedValue = receiver.receivedValue + already
  return {
    completed: receiver.completed || receivedValue === receiver.incomingValue,
    expired: receiver.expiresAtMs <= nowMs,
    room: (receiver.incomingValue ?? UINT64_MAX) - receivedValue
  }
}

/**
 * Where the money goes that the hold brought into clearing: the fee to fees, the rest to the receiver; in another asset
 * through the exchange accounts, so that each transfer stays in one asset.
 */
function transfersOf(
  payment: ClaimedPayment,
  receiver: LockedReceiver,
  { sent, fee, delivered }: Settlement,
  provider: ReadonlyMap<number, ProviderAccounts>
): PostedTransfer[] {
  if (delivered === 0n) return []
  const source = accountsOf(provider, payment.debitAssetId)
  const from = { paymentId: payment.id, debitAccountId: source.clearing, assetId: payment.debitAssetId }
  const feeTransfer = { ...from, kind: 'fee', creditAccountId: source.fees, amount: fee } as const
  const fees = fee > 0n ? [{ ...feeTransfer, incomingPaymentId: undefined }] : []
  if (payment.debitAssetId === payment.receiveAssetId) {
    // Clearing must be left as it was found: whatever else came out would be money from nowhere.
    if (sent !== fee + delivered) throw new Error(`payment ${payment.id} does not add up in its asset`)
    const creditAccountId = receiver.accountId
    return [
      ...fees,
      { ...from, kind: 'delivery', creditAccountId, amount: delivered, incomingPaymentId: receiver.id }
    ]
  }
  const target = accountsOf(provider, payment.receiveAssetId)
  return [
    ...fees,
    {
      ...from,
      kind: 'delivery',
      creditAccountId: source.exchange,
      amount: sent - fee,
      incomingPaymentId: undefined
    },
    {
      kind: 'conversion',
      paymentId: payment.id,
      debitAccountId: target.exchange,
      creditAccountId: receiver.accountId,
      assetId: payment.receiveAssetId,
      amount: delivered,
      incomingPaymentId: receiver.id
    }
  ]
}

function accountsOf(provider: ReadonlyMap<number, ProviderAccounts>, assetId: number): ProviderAccounts {
  const accounts = provider.get(assetId)
  if (accounts === undefined) throw new Error(`asset ${assetId} has no provider accounts`)
  return accounts
}

/** Adds up changes by account: an update can change a row only once. */
class Totals {
  readonly #changes = new Map<string, TotalsChange>()

  change(accountId: string, change: Partial<Omit<TotalsChange, 'accountId'>>): void {
    const before = this.#changes.get(accountId)
    const sum = (name: keyof Omit<TotalsChange, 'accountId'>): bigint =>
      (before?.[name] ?? 0n) + (change[name] ?? 0n)
    this.#changes.set(accountId, {
      accountId,
      debitsPending: sum('debitsPending'),
      debitsPosted: sum('debitsPosted'),
      creditsPosted: sum('creditsPosted')
    })
  }

  changes(): readonly TotalsChange[] {
    return [...this.#changes.values()]
  }
}
