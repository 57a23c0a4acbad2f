import { placeholder } from '@open-payments-server/database'
import type { OperatedClient } from '../../domain/frozen-clients.js'
import { Prisma, type Queries } from '../database.js'

/** The parameter of {@link freezes}: whether it freezes, or ends a freeze. */
const FREEZES = Prisma.sql`${placeholder('freezes')}::boolean`
const [BY, REASON, SINCE, NOW] = [
  Prisma.sql`${placeholder('by')}::text`,
  Prisma.sql`${placeholder('reason')}::text`,
  Prisma.sql`${placeholder('since')}::timestamptz`,
  Prisma.sql`${placeholder('now')}::timestamptz`
]

/** Whether the freeze of a client `f` is the one that is to end, where only one is. */
const isMeant = Prisma.sql`(${SINCE} is null or f.frozen_at = ${SINCE})`

/**
 * Fragment: the part `changed` (`id`), which freezes the client of the part `known (client)`, if there is one, or ends its freeze.
 * One that is as ordered already keeps its freeze, and so does one with another freeze than the one since then that is to end. Takes `id`
 * (UUID, of a client that was never frozen before), `freezes`, `by`, `reason`, `since` and `now`.
 */
export const freezes = Prisma.sql`
  changed as (
    insert into client_freeze as f (id, client, frozen_at, frozen_by, freeze_reason)
    select ${placeholder('id')}::uuid, client, ${NOW}, ${BY}, ${REASON} from known where ${FREEZES}
    union all
    select f.id, f.client, null, null, null from known join client_freeze f using (client)
     where not ${FREEZES} and f.frozen_at is not null and ${isMeant}
    on conflict (client) do update
       set frozen_at = excluded.frozen_at, frozen_by = excluded.frozen_by, freeze_reason = excluded.freeze_reason
     where (f.frozen_at is null) = (excluded.frozen_at is not null) and ${isMeant}
    returning f.id
  )`

/** Fragment: selects the events of {@link freezes}. */
export const freezeEvents = Prisma.sql`
  select case when ${FREEZES} then 'client.frozen' else 'client.unfrozen' end as type, id as subject_id,
         json_build_object('frozen', ${FREEZES}, 'by', ${BY}, 'reason', ${REASON}) as change, ${NOW} as occurred_at
    from changed`

interface FreezeRow {
  readonly client: string
  readonly frozenAt: Date | null
  readonly frozenBy: string | null
  readonly freezeReason: string | null
}

/** Finds the freeze of a client by its name. */
export async function findClientFreeze(on: Queries, client: string): Promise<OperatedClient> {
  const row = await on.clientFreeze.findUnique({ where: { client } })
  return row === null ? { client, freeze: undefined } : toOperatedClient(row)
}

/**
 * Lists the frozen clients, by name.
 *
 * @param page.after only those with names after this one; all names come after the empty one
 */
export async function listFrozenClients(
  on: Queries,
  page: { readonly client?: string; readonly after: string; readonly limit: number }
): Promise<readonly OperatedClient[]> {
  const { client = '', after } = page
  const rows = await on.clientFreeze.findMany({
    where: { client: client === '' ? { gt: after } : { gt: after, equals: client }, frozenAt: { not: null } },
    orderBy: { client: 'asc' },
    take: page.limit
  })
  return rows.map(toOperatedClient)
}

function toOperatedClient({ client, frozenAt, frozenBy, freezeReason }: FreezeRow): OperatedClient {
  if (frozenAt === null || frozenBy === null || freezeReason === null) return { client, freeze: undefined }
  return { client, freeze: { sinceMs: frozenAt.getTime(), by: frozenBy, reason: freezeReason } }
}
