import type { wallet } from '@open-payments-server/proto'
import type { Asset } from '@open-payments-server/value-types/amounts'

/** Maximum number of items of one page. */
export const PAGE_SIZE_MAX = 1_000

/** A total on the wire. */
const TOTAL = /^(?:0|[1-9]\d{0,37})$/

/** Messages of proto3 are optional on the wire even where the contract always sets them. */
export function present<Message>(message: Message | undefined, name: string): Message {
  if (message === undefined) throw new Error(`the service answered without ${name}`)
  return message
}

/** An asset on the wire. */
export function assetOf(message: wallet.Asset | undefined): Asset {
  const { code, scale } = present(message, 'asset')
  return { code, scale }
}

/** A text of proto3, where empty means none. */
export function textOf(text: string): string | undefined {
  return text === '' ? undefined : text
}

/** A part of a list, and whether there is more. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly more: boolean
}

/** A part of a list in a service's answer. */
interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextPageToken: string
}

/**
 * Reads the pages of a list.
 *
 * @param limit maximum number of items; Infinity for all
 */
export async function listPages<Item>(
  limit: number,
  readPage: (page: { pageSize: number; pageToken: string }) => Promise<Page<Item>>
): Promise<Listed<Item>> {
  const items: Item[] = []
  let pageToken = ''
  do {
    const page = await readPage({ pageSize: Math.min(limit - items.length, PAGE_SIZE_MAX), pageToken })
    items.push(...page.items)
    pageToken = page.nextPageToken
  } while (pageToken !== '' && items.length < limit)
  return { items, more: pageToken !== '' }
}

/** A single amount fits 64 bits; a balance is a total of many, of up to 38 digits in the ledger. */
export function readTotal(text: string): bigint {
  if (!TOTAL.test(text)) throw new Error(`the service answered with the total ${JSON.stringify(text)}`)
  return BigInt(text)
}

/** A total that may be below 0. */
export function readSignedTotal(text: string): bigint {
  return /^-[1-9]/.test(text) ? -readTotal(text.slice(1)) : readTotal(text)
}
