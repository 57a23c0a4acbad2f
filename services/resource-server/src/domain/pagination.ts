import { isUuid, type PageEnd } from '@open-payments-server/value-types/identifiers'
import type { WalletAddress } from './wallet-address.js'

/** The requested part of a list. */
export interface PageRequest {
  /** `forward`: the items after the position; `backward`: the items before it. */
  readonly direction: 'forward' | 'backward'
  readonly limit: number
  /** Where to continue; undefined starts with the newest. */
  readonly position: PageEnd | undefined
}

/** The rows found for a {@link PageRequest}. */
export interface FoundPage<Row> {
  /** Up to `limit + 1` rows from the position on, in the order of the search: backward is oldest first. */
  readonly rows: readonly Row[]
  /** Whether there are items on the other side of the position, if one was given. */
  readonly hasOpposite: boolean
}

/** Lists a page of the payments of a wallet address, newest first; if a client is given, only what it created. */
export type ListPayments<Payment> = (
  walletAddress: WalletAddress,
  client: string | undefined,
  page: PageRequest
) => Promise<FoundPage<Payment>>

/** Bytes of a cursor: 6 of time, 16 of id. */
const CURSOR_TIME_BYTES = 6
const CURSOR_BYTES = 22

/** The cursor of a position: opaque to clients. */
export function formatCursor(position: PageEnd): string {
  const time = Buffer.alloc(CURSOR_TIME_BYTES)
  time.writeUIntBE(position.createdAtMs, 0, CURSOR_TIME_BYTES)
  return Buffer.concat([time, Buffer.from(position.id.replaceAll('-', ''), 'hex')]).toString('base64url')
}

/** The position of a cursor; undefined for an invalid cursor. */
export function parseCursor(text: string): PageEnd | undefined {
  const bytes = Buffer.from(text.slice(0, 2 * CURSOR_BYTES), 'base64url')
  const hex = bytes.toString('hex', CURSOR_TIME_BYTES)
  const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
    '-'
  )
  if (bytes.length !== CURSOR_BYTES || bytes.toString('base64url') !== text || !isUuid(id)) return undefined
  return { createdAtMs: bytes.readUIntBE(0, CURSOR_TIME_BYTES), id }
}
