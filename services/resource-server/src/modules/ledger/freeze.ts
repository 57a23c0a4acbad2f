import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { FreezeOrder } from '../../domain/freeze.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'

/**
 * Fragment, a condition: whether an account `a` is frozen, joined by `accountById` or `ASSET_OF_ACCOUNT`. Also a wallet address of it
 * may be.
 */
export const IS_ACCOUNT_FROZEN = Prisma.sql`a.frozen_at is not null`

/**
 * Fragment, a condition: whether an account is frozen. It is looked up, whatever the size of the table is when the statement is
 * planned.
 *
 * @param accountId names the account
 */
export function isFrozenAccount(accountId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`coalesce((select ${IS_ACCOUNT_FROZEN} from account a where a.id = ${accountId}), false)`
}

const [FREEZES, BY, REASON, SINCE, NOW] = [
  Prisma.sql`${placeholder('freezes')}::boolean`,
  Prisma.sql`${placeholder('by')}::text`,
  Prisma.sql`${placeholder('reason')}::text`,
  Prisma.sql`${placeholder('since')}::timestamptz`,
  Prisma.sql`${placeholder('now')}::timestamptz`
]

/** One statement, with the event of it. An account that is as ordered already keeps its freeze, and so does one with another freeze: nothing is told. */
const FREEZE = new Statement(
  'freeze-account',
  Prisma.sql`
  with changed as (
    update account
       set frozen_at = case when ${FREEZES} then ${NOW} end, frozen_by = case when ${FREEZES} then ${BY} end,
           freeze_reason = case when ${FREEZES} then ${REASON} end
     where name = ${placeholder('name')}::text and kind = 'wallet' and (frozen_at is null) = ${FREEZES}
       and (${SINCE} is null or frozen_at = ${SINCE})
    returning id
  ), ${appended(Prisma.sql`
  select case when ${FREEZES} then 'account.frozen' else 'account.unfrozen' end as type, id as subject_id,
         json_build_object('frozen', ${FREEZES}, 'by', ${BY}, 'reason', ${REASON}) as change, ${NOW} as occurred_at
    from changed`)}
  select id from changed`,
  { prepared: false }
)

/**
 * Freezes an account, or ends its freeze. Waits for payments from it that are just being persisted, and makes later ones
 * wait: none is persisted after it.
 *
 * @returns whether this call did it: false when it was as ordered already, has another freeze, or there is none
 */
export async function freezeAccount(on: Queries, name: string, order: FreezeOrder): Promise<boolean> {
  const { freezes, by, reason, sinceMs, nowMs } = order
  const since = sinceMs === undefined ? null : instantText(sinceMs)
  const changed = await FREEZE.rows(on, { name, freezes, by, reason, since, now: instantText(nowMs) })
  return changed.length === 1
}
