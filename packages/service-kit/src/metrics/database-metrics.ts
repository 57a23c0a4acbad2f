import type { Metrics } from './metrics.js'

/** The part of a watch of the database that is published. */
export interface WatchedDatabase {
  /** Whether it answers a commit only once a standby has it; undefined until it was reached. */
  readonly waitsForStandby: boolean | undefined
  /** Calls back whenever another server has taken its place. */
  onPromoted(listener: () => void): void
}

/**
 * Publishes what `docs/metrics.md` lists of the server of the database.
 *
 * @param durability setting DATABASE_DURABILITY
 */
export function publishDatabaseWatch(
  metrics: Metrics,
  watch: WatchedDatabase,
  durability: string | undefined
): void {
  const count = metrics.addCounter({
    name: 'open_payments_database_promotions_total',
    help: 'How often another server took the place of the database.'
  })
  watch.onPromoted(() => {
    count()
  })
  if (durability !== 'synchronous') return
  metrics.addLiveGauge(
    {
      name: 'open_payments_database_synchronous',
      help: 'Whether the database answers a commit only once a standby has it, as DATABASE_DURABILITY=synchronous says: 1 or 0.'
    },
    () => (watch.waitsForStandby === true ? 1 : 0)
  )
}
