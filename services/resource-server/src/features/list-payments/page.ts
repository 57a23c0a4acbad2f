import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { type FoundPage, formatCursor, type PageRequest } from '../../domain/pagination.js'

/**
 * Writes a page for a client (published API, `page-info`), as JSON.
 *
 * @param render renders an item
 */
export function writePage<Item extends PageEnd>(
  request: PageRequest,
  found: FoundPage<Item>,
  render: (item: Item) => object
): string {
  const hasMore = found.rows.length > request.limit
  const items = found.rows.slice(0, request.limit)
  const forward = request.direction === 'forward'
  if (!forward) items.reverse()
  const [start, end] = [items[0], items.at(-1)]
  const pagination = {
    ...(start === undefined ? {} : { startCursor: formatCursor(start) }),
    ...(end === undefined ? {} : { endCursor: formatCursor(end) }),
    hasNextPage: forward ? hasMore : found.hasOpposite,
    hasPreviousPage: forward ? found.hasOpposite : hasMore
  }
  return JSON.stringify({ pagination, result: items.map(render) })
}
