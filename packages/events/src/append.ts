import { type Sql, sql } from '@open-payments-server/database'

/**
 * Fragment: the part `appended`, which appends events to the outbox in the transaction that makes them true.
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
    insert into event_outbox (type, subject_id, change, occurred_at)
    select told.type, told.subject_id, told.change, told.occurred_at from (${events}) as told)`
}
