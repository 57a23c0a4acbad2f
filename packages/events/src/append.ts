import { type Sql, sql, supplied } from '@open-payments-server/database'
import { currentTrace } from './trace.js'

/**
 * Fragment: the part `appended`, which appends events to the outbox in the transaction that makes them true, with the trace of the
 * statement.
 *
 * @param events selects them, in the order in which they happened to their subject:
 *   - `type` text, such as `outgoing_payment.completed`;
 *   - `subject_id` uuid: of the resource that it tells of;
 *   - `change` json: those columns of the resource that may change later, as they are now; null when it was just created;
 *   - `occurred_at` timestamptz: when it changed
 */
export function appended(events: Sql): Sql {
  return sql`
  appended as (
    insert into event_outbox (type, subject_id, change, occurred_at, trace)
    select told.type, told.subject_id, told.change, told.occurred_at, decode(${supplied('trace', currentTrace)}::text, 'hex')
      from (${events}) as told)`
}
