import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

// How what one process sends is shared among peers, and among who pays over one.

/**
 * What one process may still send. A peer gets no more of it than half of what is left beside what it has, so that those who delay what is sent
 * to them never keep payments to others from being sent; and a wallet address no more than a quarter of what its peer has and could get,
 * because many receivers are behind one peer.
 */
export interface SendingRoom {
  /** Number of payments. */
  readonly free: number
  /** Number of payments that it sends, by the ids (UUID) of their peers. */
  readonly sentTo: ReadonlyMap<string, number>
  /** Of these the number that a wallet address pays, by {@link payerKey}. */
  readonly sentFrom: ReadonlyMap<string, number>
}

/** Who pays over which peer. */
export interface PayerOverPeer {
  /** Id (UUID) of the peer. */
  readonly peerId: string
  /** Id (UUID) of the wallet address that pays. */
  readonly walletAddressId: string
}

/** Identifies a wallet address among those that pay over a peer. */
export function payerKey({ peerId, walletAddressId }: PayerOverPeer): string {
  return `${peerId} ${walletAddressId}`
}

/** The part of its peer that a wallet address may have, as a divisor. It may always have one payment. */
const PAYER_SHARE_DIVISOR = 4

/** Ids (UUID) of the peers that get no more now. */
export function busyPeers({ free, sentTo }: SendingRoom): readonly string[] {
  return [...sentTo].filter(([, count]) => count >= free).map(([id]) => id)
}

/** Whether nothing more is sent from a wallet address over a peer now. */
export function isFull({ free, sentTo, sentFrom }: SendingRoom, payer: PayerOverPeer): boolean {
  const toPeer = sentTo.get(payer.peerId) ?? 0
  const most = Math.max(1, Math.floor((1 + free + toPeer) / 2 / PAYER_SHARE_DIVISOR))
  return toPeer >= free || (sentFrom.get(payerKey(payer)) ?? 0) >= most
}

/** What statements take of a room that have {@link getsOf} or {@link paysOver}. */
export function sharing({ free, sentTo, sentFrom }: SendingRoom) {
  return {
    free,
    sentTo: JSON.stringify(Object.fromEntries(sentTo)),
    sentFrom: JSON.stringify(Object.fromEntries(sentFrom))
  }
}

/** Fragment, an expression: number of payments that are sent to a peer. */
const sentToPeer = (peerId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  coalesce((${placeholder('sentTo')}::jsonb ->> ${peerId}::text)::integer, 0)`

/** Fragment, an expression: whether a peer gets what is so many-th of what it could get. */
export const getsOf = (peerId: Prisma.Sql, place: Prisma.Sql): Prisma.Sql => Prisma.sql`
  2 * ${place} <= 1 + ${placeholder('free')}::integer - ${sentToPeer(peerId)}`

/** Fragment, an expression: whether a wallet address gets what is so many-th of what it could get over a peer. */
export const paysOver = (
  peerId: Prisma.Sql,
  walletAddressId: Prisma.Sql,
  place: Prisma.Sql
): Prisma.Sql => Prisma.sql`
  2 * ${PAYER_SHARE_DIVISOR}::integer
    * (${place} + coalesce((${placeholder('sentFrom')}::jsonb ->> (${peerId}::text || ' ' || ${walletAddressId}::text))::integer, 0))
    <= greatest(2 * ${PAYER_SHARE_DIVISOR}::integer, 1 + ${placeholder('free')}::integer + ${sentToPeer(peerId)})`
