import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { PAID_AFTER_TERMS_MAX_MS } from '../../domain/outgoing-payment.js'
import { Prisma, type Queries } from '../database.js'
import { unknownValue } from '../interledger/index.js'
import { isBeforeChange } from '../timeline/index.js'

/** By how much the clocks of processes may differ, in milliseconds. */
const CLOCKS_DIFFER_MAX_MS = 60_000

// A payment that waits for a decision gets no other packet until then, nor afterwards once its time is over. A minute later it is over for every
// process, whatever its clock says. Few wait, and only these are looked up. Of those whose packets may be lost, it is looked for these first.
const OUTSTANDING = new Statement<{ readonly peer_id: string; readonly value: string }>(
  'get-values-being-sent',
  Prisma.sql`
  select peer_id,
         sum(case when due_at is null and not ${isBeforeChange(Prisma.sql`s.known_since`)}
                   and (select p.begin_until from outgoing_payment p where p.id = s.payment_id)
                                          <= ${placeholder('now')}::timestamptz - ${PAID_AFTER_TERMS_MAX_MS + CLOCKS_DIFFER_MAX_MS} * interval '1 millisecond'
                  then ${unknownValue(Prisma.sql`s.payment_id`)} else held_value end)::text as value
    from sending s where peer_id = any(${placeholder('peerIds')}::uuid[]) group by peer_id`
)

/**
 * How much may still arrive at each of some peers (UUID) for payments that are being sent: what may be sent, or only what is unknown where nothing
 * more is. Peers to which nothing is sent are missing.
 */
export async function readValuesBeingSent(
  on: Queries,
  { peerIds, nowMs }: { readonly peerIds: readonly string[]; readonly nowMs: number }
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await OUTSTANDING.rows(on, { peerIds: [...peerIds], now: instantText(nowMs) })
  return new Map(rows.map(({ peer_id, value }) => [peer_id, BigInt(value)]))
}
