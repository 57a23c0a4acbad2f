import { Prisma, type Queries } from '../../modules/database.js'

/** What an audit looks through a page at a time, because there may be as many rows as payments. */
interface Inspected<Row> {
  /** A name for the cursor, of its own in the transaction. */
  readonly cursor: string
  readonly rows: Prisma.Sql
  /** Number of rows read at a time. */
  readonly pageSize: number
  /** @returns one sentence per violation */
  readonly findWrong: (row: Row) => readonly string[]
}

/** Looks through rows until there are as many violations as requested. */
export async function findByCursor<Row>(
  snapshot: Queries,
  { cursor, rows, pageSize, findWrong }: Inspected<Row>,
  violationsMax: number
): Promise<string[]> {
  const violations: string[] = []
  await snapshot.$executeRaw(Prisma.sql`declare ${Prisma.raw(cursor)} no scroll cursor for ${rows}`)
  const next = Prisma.raw(`fetch ${String(pageSize)} from ${cursor}`)
  while (violations.length < violationsMax) {
    const page = await snapshot.$queryRaw<Row[]>(next)
    violations.push(...page.flatMap(findWrong))
    if (page.length < pageSize) break
  }
  return violations.slice(0, Math.max(0, violationsMax))
}
