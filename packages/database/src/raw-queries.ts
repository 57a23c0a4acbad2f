import type { Sql } from '@prisma/client/runtime/client'

/** What sends raw statements through Prisma: the `PrismaClient` of a service, or a transaction of it. */
export interface RawQueries {
  /**
   * Sends one statement, for which Prisma's models have no words or would need several.
   *
   * @returns the rows that it answers. `numeric` comes as Prisma's Decimal, unless it is asked for as `text`; instants come as Date
   */
  $queryRaw<Rows = unknown>(statement: Sql): PromiseLike<Rows>
}
