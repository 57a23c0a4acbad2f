import { Prisma } from '../database.js'

/**
 * Fragment, a condition: whether a client is frozen.
 *
 * @param client names it, as `nameClient` does
 */
export function isFrozenClient(client: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`exists (select 1 from client_freeze f where f.client = ${client} and f.frozen_at is not null)`
}

/**
 * Fragment, a condition: whether a client was ever frozen. It may have no grant any more, and its freeze must be able to end.
 *
 * @param client names it, as `nameClient` does
 */
export function wasFrozen(client: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`exists (select 1 from client_freeze f where f.client = ${client})`
}
