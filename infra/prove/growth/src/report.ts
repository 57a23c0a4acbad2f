import { wallet } from '@open-payments-server/proto'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { System } from '@open-payments-server/acceptance'
import type { TestDatabase } from '@open-payments-server/testing'

const AUDIT_DEADLINE_MS = 600_000
const MEBIBYTE = 1_048_576

/**
 * Prints the sizes of tables and indexes, and the cost of an audit.
 *
 * @throws Error when the audit finds violations
 */
export async function reportGrowth(system: System): Promise<void> {
  const lines = [
    ...(await describeSizes('auth server', system.authDatabase)),
    ...(await describeSizes('resource server', system.resourceDatabase))
  ]
  const begun = Date.now()
  let peakBytes = 0
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage().heapUsed)
  }, 100)
  const { checks } = await callUnary(system.operator, 'audit', wallet.AuditRequest.fromPartial({}), {
    idempotent: true,
    deadlineMs: AUDIT_DEADLINE_MS
  })
  clearInterval(watch)
  lines.push(
    `audit: ${String(Math.round((Date.now() - begun) / 1_000))} s, heap of the process up to ${String(Math.round(peakBytes / MEBIBYTE))} MiB`,
    ...checks.map(({ invariant, checkedCount }) => `  ${String(checkedCount)} checked: ${invariant}`)
  )
  console.log(lines.join('\n'))
  const violations = checks.flatMap((check) => check.violations)
  if (violations.length > 0) throw new Error(`the audit finds ${violations.slice(0, 5).join('; ')}`)
}

async function describeSizes(name: string, database: TestDatabase): Promise<string[]> {
  const tables = await database.query<{ name: string; rows: string; table: number; indexes: number }>(
    `select relname as name, reltuples::bigint as rows, round(pg_table_size(oid) / ${MEBIBYTE}.0)::integer as table,
            round(pg_indexes_size(oid) / ${MEBIBYTE}.0)::integer as indexes
       from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
      order by pg_total_relation_size(oid) desc limit 7`
  )
  return [
    `${name}: table, rows, MiB, MiB of indexes`,
    ...tables.map(
      (table) => `  ${table.name} | ${table.rows} | ${String(table.table)} | ${String(table.indexes)}`
    )
  ]
}
