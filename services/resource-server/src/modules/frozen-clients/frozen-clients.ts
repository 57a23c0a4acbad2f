import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/**
 * Fragment, a condition: whether a client is frozen, as far as is known here.
 *
 * @param client names the client
 */
export function isFrozenClient(client: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`exists (select 1 from frozen_client f where f.client = ${client})`
}

const LISTED = Prisma.sql`${placeholder('clients')}::text[]`

/** One statement, so that nobody sees a part of the list. In one order, so that two replicas never deadlock. */
const KEEP = new Statement<{ client: string; frozen: boolean }>(
  'keep-frozen-clients',
  Prisma.sql`
  with gone as (
    delete from frozen_client
     where client = any (array(select client from frozen_client
                                where client <> all (${LISTED}) order by client for update))
    returning client
  ), come as (
    insert into frozen_client (client)
    select client from unnest(${LISTED}) as listed (client) order by client
    on conflict do nothing
    returning client
  )
  select client, false as frozen from gone union all select client, true from come`,
  { prepared: false }
)

/**
 * Keeps the list of all clients that are frozen now.
 *
 * @returns whether any is frozen no longer
 */
export async function keepFrozenClients(on: Queries, clients: readonly string[]): Promise<boolean> {
  return (await KEEP.rows(on, { clients: [...clients] })).some(({ frozen }) => !frozen)
}
