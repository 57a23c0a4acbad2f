/** Which page of a list. */
export interface Page {
  /** How many at most. */
  readonly size: number
  /** `next` of the page before; empty for the first. */
  readonly after: string
}

/** A page of a list. */
export interface Paged<Item> {
  readonly items: readonly Item[]
  /** What the next page begins after; empty on the last. */
  readonly next: string
}

/** A page that there is not: what it was to begin after was not told by this list. */
export class NoSuchPage extends Error {
  override readonly name = 'NoSuchPage'
}

/** All items of a list, page by page as they are needed. */
export async function* allOf<Item>(
  size: number,
  read: (page: Page) => Promise<Paged<Item>>
): AsyncGenerator<readonly Item[]> {
  let after = ''
  do {
    const { items, next } = await read({ size, after })
    yield items
    after = next
  } while (after !== '')
}
