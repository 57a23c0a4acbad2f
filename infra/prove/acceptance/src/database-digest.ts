import type { TestDatabase } from '@open-payments-server/testing'

/** What publishing changes by itself, also some time later, and what of it stays the same: the events. */
const PUBLISHING: ReadonlySet<string> = new Set([
  ...['event', 'event_log', 'event_outbox', 'event_epoch', 'payment_hour']
])
/** What records an action also if it is refused. */
const RECORDING = 'operator_action'
/** Rows without what is written from time to time, whatever happens. */
const STANDING: Readonly<Record<string, string>> = {
  database_incarnation: `(select to_jsonb(i) - 'last_seen_at' as standing from database_incarnation i)`
}
const EVENTS = `
  select type, subject_id, change::text, occurred_at from event
  union all
  select type, subject_id, change::text, occurred_at from event_outbox`

/** A digest of all data in a database: equal before and after an action that must change nothing. */
export async function digestOf(database: TestDatabase): Promise<string> {
  return database.inTransaction(async (query) => {
    // All tables as they were at one moment.
    await query('set transaction isolation level repeatable read, read only')
    const digest = async (name: string, rows: string): Promise<string> => {
      const [row] = await query<{ digest: string }>(
        `select count(*) || ':' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as digest from ${rows} t`
      )
      return `${name}=${row?.digest ?? ''}`
    }
    const tables = await query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`
    )
    const digests = [await digest('events', `(${EVENTS})`)]
    for (const { name } of tables)
      if (!PUBLISHING.has(name) && name !== RECORDING)
        digests.push(await digest(name, STANDING[name] ?? `"${name}"`))
    return digests.join('\n')
  })
}
