import type { TestQuery } from './test-database.js'

/**
 * Size of tables on disk, with what is stored beside them and their indexes, in bytes. Without the maps of free space that a vacuum
 * makes at its own time.
 *
 * @param tables a condition on `relname`, in SQL
 */
export async function sizeOnDisk(query: TestQuery, tables: string): Promise<number> {
  const [row] = await query<{ size: string }>(`
    with stored as (
      select oid, reltoastrelid from pg_class
       where relkind = 'r' and relnamespace = 'public'::regnamespace and ${tables}
    ), heap as (
      select oid from stored union all select reltoastrelid from stored where reltoastrelid <> 0
    )
    select sum(pg_relation_size(part)) as size
      from (select oid from heap
             union all
            select indexrelid from pg_index where indrelid in (select oid from heap)) as parts (part)`)
  return Number(row?.size)
}
