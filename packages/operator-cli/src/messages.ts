import type { wallet } from '@open-payments-server/proto'
import type { Asset } from '@open-payments-server/value-types/amounts'

/** Maximum number of items of one page. */
export const PAGE_SIZE_MAX = 1_000

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
