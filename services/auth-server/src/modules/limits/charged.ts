import { placeholder } from '@open-payments-server/database'
import type { Window } from '../../domain/limits.js'
import { Prisma } from '../database.js'

/** Fragment: the part `charged`, windows in their order: `access_item_id`, `interval_index`, `place`. */
export const charged = Prisma.sql`
  charged as (
    select * from unnest(${placeholder('itemIds')}::uuid[], ${placeholder('intervals')}::bigint[])
      with ordinality as c (access_item_id, interval_index, place))`

/** The parameters of {@link charged}. */
export function chargedWindows(windows: readonly Window[]): { itemIds: string[]; intervals: string[] } {
  return {
    itemIds: windows.map(({ accessItemId }) => accessItemId),
    intervals: windows.map(({ intervalIndex }) => intervalIndex.toString())
  }
}
