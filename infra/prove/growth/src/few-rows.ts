/**
 * Tables that stay small, however many payments there are: assets, one incarnation for each failover, the databases of a cluster, what operators configure or record
 * one by one (peers, their tokens and settlements among them), and what every enabled webhook endpoint is bounded to.
 */
export const SMALL_TABLES: readonly string[] = [
  '_prisma_migrations',
  'approval_rule',
  'asset',
  'client_freeze',
  'database_incarnation',
  'event_epoch',
  'event_log',
  'frozen_client',
  'peer',
  'pg_database',
  'webhook_delivery',
  'webhook_endpoint'
]

/** Whether a table stays small, or an index is one of such a table. */
export function isSmall(source: string): boolean {
  return SMALL_TABLES.some((table) => source === table || source.startsWith(`${table}_`))
}
