import type { Answer } from '@open-payments-server/testing'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { Limits } from '../consent.js'
import { eventually } from '../payments.js'
import { decideUnknownPackets } from '../unknown-packets.js'
import { amountOf, Correspondence } from '../wallets.js'
import type { OrderBook } from './order-book.js'
import type { Direction } from './provider-pair.js'

/** What a payer has, in the smallest units. */
const BALANCE = 10_000_000n

/** Limits of a grant by their values: of a debit in the payer's asset, and of a receipt in the payee's. */
export interface LimitValues {
  readonly debit?: bigint
  readonly receive?: bigint
  /** When the first day begins to which they apply, in milliseconds since 1970; without it they are those of the whole grant. */
  readonly dailySinceMs?: number
}

/** Packets of which nothing is known must expire before they are decided. */
export const ENDED_WITHIN_MS = 90_000

let walletCount = 0

/** Opens two wallets, each at its system, and a grant for payments from the first one to the second. */
export async function openCrossing(
  { sender, receiver }: Direction,
  book: OrderBook,
  { from, to, limits = {} }: { readonly from: Asset; readonly to: Asset; readonly limits?: LimitValues }
): Promise<Correspondence> {
  walletCount += 1
  const payer = await book.openWallet(sender, `payer-${String(walletCount)}`, {
    asset: from,
    balance: BALANCE
  })
  const payee = await book.openWallet(receiver, `payee-${String(walletCount)}`, { asset: to })
  const { debit, receive, dailySinceMs } = limits
  const wireLimits: Limits = {
    ...(debit === undefined ? {} : { debitAmount: amountOf(payer, debit) }),
    ...(receive === undefined ? {} : { receiveAmount: amountOf(payee, receive) }),
    ...(dailySinceMs === undefined ? {} : { interval: `R/${new Date(dailySinceMs).toISOString()}/P1D` })
  }
  const wallets = { from: payer, to: payee, payee: { system: receiver, client: receiver.shop } }
  const by = await Correspondence.open(sender, sender.shop, wallets, wireLimits)
  if (dailySinceMs !== undefined) book.countDaily(by, dailySinceMs)
  return by
}

/**
 * A payment as its client reads it, once nothing of it is under way. Packets of which nothing is known, because a busy machine loses answers,
 * are decided as operators do.
 *
 * @param created the answer to its order
 */
export async function whenEnded(by: Correspondence, created: Answer): Promise<Answer> {
  const url = created.textAt('id')
  const direction = { sender: by.payer.system, receiver: by.payee.system }
  const hasEnded = async (): Promise<boolean> => {
    await decideUnknownPackets(direction)
    const [row] = await direction.sender.resourceDatabase.query<{ state: string }>(
      'select state::text from outgoing_payment where id = $1',
      [url.slice(url.lastIndexOf('/') + 1)]
    )
    return row?.state === 'completed' || row?.state === 'failed'
  }
  await eventually(`${url} has ended`, hasEnded, ENDED_WITHIN_MS)
  return by.read('outgoing', url)
}

/** The value of an amount in an answer. */
export function valueAt(answer: Answer, path: string): bigint {
  return BigInt(answer.textAt(`${path}.value`))
}
