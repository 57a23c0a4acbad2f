import type { TestDatabase } from '@open-payments-server/testing'

/** A digest of all data in a database: equal before and after an action that must change nothing. */
export async function digestOf(database: TestDatabase): Promise<string> {
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`
  )
  const digests: string[] = []
  for (const { name } of tables) {
    const [row] = await database.query<{ digest: string }>(
      `select count(*) || ':' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as digest from "${name}" t`
    )
    digests.push(`${name}=${row?.digest ?? ''}`)
  }
  return digests.join('\n')
}
