import type { Sql } from '@prisma/client/runtime/client'

/** Sends raw statements through Prisma: the `PrismaClient` of a service, or a transaction in it. */
export interface RawQueries {
  /**
   * Sends one statement that Prisma's models cannot express, or would need several for.
   *
   * @returns its rows. `numeric` comes as Prisma's Decimal, unless selected as `text`; instants come as Date
   */
  $queryRaw<Rows = unknown>(statement: Sql): PromiseLike<Rows>
}
