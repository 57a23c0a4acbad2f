/** For how long nobody decides what became of a packet: 20 seconds until it has expired, and a minute more. */
export const DECIDABLE_AFTER_SECONDS = 80
/** How long the terms of payments elsewhere, and between currencies, stand: the lifetime of a quote. */
export const BEGIN_WITHIN_SECONDS = 300
/** How long after that they may be sent, or settled if nobody was to decide about them. */
export const PAID_AFTER_TERMS_SECONDS = 600
/** For how long a payment is due that a freeze holds before it is looked whether it is over. */
export const HELD_PAUSE_MS = 60_000
/** Attempts in a row without a fulfillment after which a payment ends. */
const ATTEMPTS_MAX = 10
const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 60_000

/** The largest packet that is taken from the peer. */
export const PACKET_MAX = 1_000n
/** An event tells when less is left of what the peer may owe, and when more is owed to it. */
export const LOW_ALERT = 200n
export const HIGH_ALERT = 500n

/** What the peer does with packets: it may take the first half of a payment, and does something else with the rest. */
export interface Manner {
  readonly splits: boolean
  readonly then: 'takes' | 'closes' | 'rejects' | 'loses answers' | 'loses packets' | 'is down'
}

/** A packet that the peer sent. */
export interface ModelPacket {
  readonly incoming: number
  readonly value: bigint
  credited: boolean
}

/** The one peer, which accounts in dollars, as this provider knows it. */
export interface Peering {
  manner: Manner
  theyOwe: bigint
  weOwe: bigint
  theyOweMaximum: bigint | undefined
  weOweMaximum: bigint | undefined
  readonly packets: Record<number, ModelPacket>
}

/** How far a payment to a receiver at the other provider is. The way there is in one asset and takes nothing. */
export interface Sending {
  readonly value: bigint
  readonly beginUntilMs: number
  begun: boolean
  /** In a row, without a fulfillment. */
  attempts: number
  /** When the next one is made. */
  dueAtMs: number
  delivered: bigint
  /** The packet of which nothing is known: the next attempt waits for a decision. */
  unknown: { readonly value: bigint; readonly arrived: boolean; readonly sentAtMs: number } | undefined
  /** What the receiver has, whatever is known of it here. */
  received: bigint
}

/** Without limits, and with nothing owed. */
export function beginPeering(): Peering {
  return {
    ...{ manner: { splits: false, then: 'takes' }, theyOwe: 0n, weOwe: 0n },
    ...{ theyOweMaximum: undefined, weOweMaximum: undefined, packets: {} }
  }
}

/** @param value what the receiver is to get */
export function newSending(value: bigint, nowMs: number): Sending {
  return {
    ...{
      value,
      beginUntilMs: nowMs + BEGIN_WITHIN_SECONDS * 1_000,
      begun: false,
      attempts: 0,
      dueAtMs: nowMs
    },
    ...{ delivered: 0n, unknown: undefined, received: 0n }
  }
}

/** Why a packet may not raise what the peer owes: the codes that it may be rejected with. */
export function refusalsOfPacket(peering: Peering, value: bigint): readonly string[] {
  const left = leftToOwe(peering)
  return [...(value > PACKET_MAX ? ['F08'] : []), ...(left !== undefined && value > left ? ['T04'] : [])]
}

/** The peer owes more. Returns the events. */
export function oweUs(peering: Peering, value: bigint): readonly string[] {
  return leaveLess(peering, () => {
    peering.theyOwe += value
  })
}

/** The peer was paid: what it is owed counts no more for what it may owe. Returns the events. */
export function payThem(peering: Peering, value: bigint): readonly string[] {
  return leaveLess(peering, () => {
    peering.weOwe -= value
  })
}

function leaveLess(peering: Peering, change: () => void): readonly string[] {
  const before = leftToOwe(peering)
  change()
  const left = leftToOwe(peering)
  const isLow = before !== undefined && left !== undefined && before >= LOW_ALERT && left < LOW_ALERT
  return isLow ? ['liquidity.low'] : []
}

/** The peer is owed more, for a packet that arrived. Returns the events. */
export function oweThem(peering: Peering, value: bigint): readonly string[] {
  const before = peering.weOwe
  peering.weOwe += value
  return before <= HIGH_ALERT && peering.weOwe > HIGH_ALERT ? ['liquidity.high'] : []
}

/** Whether a payment may begin: whatever arrives of this one and of `others`, the peer is not owed more than it may be. */
export function fits(
  { weOweMaximum, weOwe }: Peering,
  { value }: Sending,
  others: readonly Sending[]
): boolean {
  const mayArrive = others
    .filter(({ begun }) => begun)
    .reduce((total, other) => total + other.value - other.delivered, 0n)
  return weOweMaximum === undefined || weOwe + mayArrive + value <= weOweMaximum
}

/** Whether it can be decided what became of the packet of which nothing is known. */
export function isDecidable({ unknown }: Sending, nowMs: number): boolean {
  return unknown !== undefined && nowMs > unknown.sentAtMs + DECIDABLE_AFTER_SECONDS * 1_000
}

/** Whether nothing more is sent of a payment. */
export function isOver({ beginUntilMs }: Sending, nowMs: number): boolean {
  return nowMs >= beginUntilMs + PAID_AFTER_TERMS_SECONDS * 1_000
}

/** What an attempt came to. */
export interface Attempt {
  /** What was owed to the peer, packet by packet. */
  readonly dispatched: readonly bigint[]
  /** Why nothing more is delivered, if it ended with less than everything; undefined when another attempt is made, or may be. */
  readonly end: 'receiver_completed' | 'receiver_unreachable' | 'rate_changed' | 'delivered' | undefined
}

/** Sends what is missing of a payment, as far as the peer takes it. */
export function attempt({ manner }: Peering, sending: Sending, nowMs: number): Attempt {
  const { value } = sending
  if (sending.delivered === value) return { dispatched: [], end: 'delivered' }
  if (isOver(sending, nowMs)) return { dispatched: [], end: 'rate_changed' }
  if (manner.then === 'is down') {
    sending.attempts += 1
    sending.dueAtMs = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** (sending.attempts - 1), PAUSE_MAX_MS)
    return { dispatched: [], end: sending.attempts === ATTEMPTS_MAX ? 'receiver_unreachable' : undefined }
  }
  const dispatched: bigint[] = []
  const deliver = (part: bigint): void => {
    sending.delivered += part
    sending.received += part
    dispatched.push(part)
  }
  if (manner.splits && sending.received === 0n && value > 1n) deliver((value + 1n) / 2n)
  const rest = value - sending.delivered
  switch (manner.then) {
    case 'takes':
      deliver(rest)
      return { dispatched, end: 'delivered' }
    case 'closes':
      return { dispatched, end: 'receiver_completed' }
    case 'rejects':
      return { dispatched, end: 'receiver_unreachable' }
    case 'loses answers':
    case 'loses packets': {
      const arrived = manner.then === 'loses answers'
      sending.unknown = { value: rest, arrived, sentAtMs: nowMs }
      if (arrived) sending.received += rest
      return { dispatched, end: undefined }
    }
  }
}

/** What is left of what the peer may owe: what it is owed counts for it. */
function leftToOwe({ theyOweMaximum, theyOwe, weOwe }: Peering): bigint | undefined {
  return theyOweMaximum === undefined ? undefined : theyOweMaximum - theyOwe + weOwe
}
