import { callUnary } from '@open-payments-server/grpc-transport'
import type { ConnectedSystem } from '../connect-system.js'
import { converged, eventually } from '../payments.js'
import { decideUnknownPackets } from '../unknown-packets.js'
import { balanceOf, type Wallet } from '../wallets.js'
import { ENDED_WITHIN_MS } from './crossing.js'
import { differs, sum } from './differs.js'
import type { OrderBook } from './order-book.js'
import { packetDisagreements, readPackets, type SystemPackets } from './packets.js'
import { isLocal, type PaymentEnd, readEnds, type ReceiverEnd } from './payment-ends.js'
import { type Direction, directionsOf, PEERINGS, type ProviderPair } from './provider-pair.js'

/** For how long payments are waited for before packets are decided. */
const LOOK_MS = 2_000

/** What two systems agree on, counted. */
export interface AgreedFigures {
  readonly payments: number
  readonly completed: number
  /** Payments that failed after a part of them arrived. */
  readonly partial: number
  /** Payments to a wallet of the same system. */
  readonly local: number
  readonly packets: number
  /** What all receivers got, in the smallest units of every asset. */
  readonly receivedValues: Readonly<Record<string, bigint>>
  /** What of it the way brought beyond the terms of the payments: the last unit that is sent may bring more than is missing. */
  readonly beyondTermsValue: bigint
}

/** What is compared. */
interface Compared {
  readonly pair: ProviderPair
  readonly book: OrderBook
  readonly packets: readonly SystemPackets[]
  readonly payments: readonly PaymentEnd[]
  readonly receivers: readonly ReceiverEnd[]
}

/**
 * Waits until everything that was ordered has ended, and compares all that tells about it, at both systems: packets, outgoing and
 * incoming payments as their clients read them, balances, what grants have spent, what each peer says that it owes, and both audits.
 *
 * @param book everything that moved money at both
 * @returns a sentence for each thing on which two of these disagree by a unit or more
 */
export async function compareProviders(
  pair: ProviderPair,
  book: OrderBook
): Promise<{ readonly disagreements: readonly string[]; readonly figures: AgreedFigures }> {
  const systems = [pair.one, pair.another]
  await whenEverythingEnded(pair)
  const packets = await Promise.all(directionsOf(pair).map(readPackets))
  const compared = { pair, book, packets, ...(await readEnds(book, packets)) }
  const found = await Promise.all([
    balanceDisagreements(compared),
    grantDisagreements(compared),
    ...directionsOf(pair).map((direction, index) => peerDisagreements(direction, packets[index])),
    ...systems.map((system) => system.audit())
  ])
  const disagreements = [
    ...packets.flatMap(packetDisagreements),
    ...[...compared.payments, ...compared.receivers].flatMap((end) => end.disagreements),
    ...found.flat()
  ]
  return { disagreements, figures: figuresOf(compared) }
}

/**
 * Waits until everything has ended, and decides about packets of which nothing is known as operators do: a busy machine loses answers.
 *
 * @throws Error that tells what has not ended, and what became of its packets
 */
async function whenEverythingEnded(pair: ProviderPair): Promise<void> {
  const systems = [pair.one, pair.another]
  const haveEnded = async (): Promise<boolean> => {
    await Promise.all(directionsOf(pair).map(decideUnknownPackets))
    const waits = systems.map((system) => converged(system, LOOK_MS))
    return (await Promise.allSettled(waits)).every(({ status }) => status === 'fulfilled')
  }
  try {
    await eventually('everything has ended', haveEnded, ENDED_WITHIN_MS)
  } catch (cause) {
    const open = await Promise.all(systems.map(({ resourceDatabase }) => resourceDatabase.query(STILL_OPEN)))
    throw new Error(`what has not ended: ${JSON.stringify(open)}`, { cause })
  }
}

const STILL_OPEN = `
  select o.id, o.receiver, o.debit_value, o.receive_value, o.settled_receive_value, s.attempts, s.due_at, s.leased_until,
         (select json_agg(json_build_object('sent', k.send_value, 'outcome', k.outcome, 'code', k.code, 'at', k.sent_at)
                          order by k.sequence) from sent_packet k where k.payment_id = o.id) as packets
    from outgoing_payment o left join sending s on s.payment_id = o.id where o.state = 'pending'`

/** What every wallet has, compared with what clients read of the payments from it and to it. */
async function balanceDisagreements({ book, payments, receivers }: Compared): Promise<string[]> {
  const found = await Promise.all(
    book.wallets.map(async ({ system, wallet, openingBalance }) => {
      const isWallet = (other: Wallet): boolean => other.walletAddress === wallet.walletAddress
      const sent = sum(
        payments.filter(({ by }) => isWallet(by.from)),
        ({ sentValue }) => sentValue
      )
      const received = sum(
        receivers.filter(({ by }) => isWallet(by.to)),
        ({ receivedValue }) => receivedValue
      )
      const balance = await balanceOf(system, wallet.name)
      return differs(`balance of ${wallet.walletAddress}`, balance, openingBalance - sent + received)
    })
  )
  return found.flat()
}

/** What every grant has spent as its client reads it, compared with its payments. */
async function grantDisagreements({ book, payments }: Compared): Promise<string[]> {
  const found = await Promise.all(
    [...book.correspondences].map(async (by) => {
      const counted = new Set(book.countedBy(by).map(({ url }) => url))
      const own = payments.filter(({ url }) => counted.has(url))
      const spent = await by.readSpent()
      const valueOf = (path: string): bigint => BigInt((spent.at(`${path}.value`) as string | undefined) ?? 0)
      const name = `from ${by.from.walletAddress} to ${by.to.walletAddress}`
      return [
        ...differs(
          `debited under the grant ${name}`,
          valueOf('spentDebitAmount'),
          sum(own, ({ sentValue }) => sentValue)
        ),
        ...differs(
          `received under the grant ${name}`,
          valueOf('spentReceiveAmount'),
          sum(own, ({ countedValue }) => countedValue)
        )
      ]
    })
  )
  return found.flat()
}

/** What the sender says that it owes in each asset, and what the receiver says, compared with packets and settlements. */
async function peerDisagreements(
  { sender, receiver }: Direction,
  packets: SystemPackets | undefined
): Promise<string[]> {
  const found = await Promise.all(
    Object.keys(PEERINGS).map(async (name) => {
      const fulfilled = packets?.sent.filter(({ peer, outcome }) => peer === name && outcome === 'fulfilled')
      const due = sum(fulfilled ?? [], ({ sendValue }) => sendValue)
      const [owed, paid] = await readAccount(sender, name, 'payable')
      const [asked, got] = await readAccount(receiver, name, 'receivable')
      return [
        ...differs(`owed by ${sender.resourceServerUrl} to ${name}`, owed, due - paid),
        ...differs(`due to ${receiver.resourceServerUrl} by ${name}`, asked, due - got),
        ...differs(`settled with ${name}`, got, paid)
      ]
    })
  )
  return found.flat()
}

/** What a system says that is owed on one side of a peer, and what was settled of it. */
async function readAccount(
  { peers, resourceDatabase }: ConnectedSystem,
  name: string,
  side: 'payable' | 'receivable'
): Promise<[owed: bigint, settled: bigint]> {
  const { peer } = await callUnary(peers, 'getPeer', { name }, { idempotent: true })
  const [settled] = await resourceDatabase.query<{ value: string }>(
    `select coalesce(sum(s.value), 0) as value from peer_settlement s join peer p on p.id = s.peer_id
      where p.name = $1 and s.direction = $2`,
    [name, side === 'payable' ? 'sent' : 'received']
  )
  return [BigInt(peer?.[`${side}Value`] ?? -1), BigInt(settled?.value ?? -1)]
}

function figuresOf({ packets, payments, receivers }: Compared): AgreedFigures {
  const receivedValues: Record<string, bigint> = {}
  for (const { by, receivedValue } of receivers) {
    receivedValues[by.to.asset.code] = (receivedValues[by.to.asset.code] ?? 0n) + receivedValue
  }
  const count = (condition: (payment: PaymentEnd) => boolean): number => payments.filter(condition).length
  return {
    payments: payments.length,
    completed: count(({ hasFailed }) => !hasFailed),
    partial: count(({ hasFailed, arrivedValue }) => hasFailed && arrivedValue > 0n),
    local: count(({ by }) => isLocal(by)),
    packets: packets.reduce((total, { received }) => total + received.length, 0),
    receivedValues,
    beyondTermsValue: sum(payments, ({ arrivedValue, countedValue }) => arrivedValue - countedValue)
  }
}
