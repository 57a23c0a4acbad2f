import { type RawQueries, sql, Statement } from '@open-payments-server/database'

/** How deliveries stand. */
export interface DeliveryMeasures {
  /** Age of the oldest event that was tried and not taken, of endpoints that are enabled, in seconds; 0 when there is none. */
  readonly oldestAgeSeconds: number
  /** Number of endpoints that are disabled because they are gone or failing. */
  readonly disabledCount: number
}

const MEASURE = new Statement<{ readonly oldest_age_seconds: number; readonly disabled_count: number }>(
  'measure-webhooks',
  sql`
  select coalesce(extract(epoch from now() - (
           select min(d.first_attempted_at) from webhook_delivery d join webhook_endpoint e on e.id = d.endpoint_id
            where d.given_up_at is null and e.disabled_cause is null)), 0)::double precision as oldest_age_seconds,
         (select count(*) from webhook_endpoint where disabled_cause in ('gone', 'failing'))::integer as disabled_count`
)

/** Reads how deliveries stand. */
export async function measureDeliveries(on: RawQueries): Promise<DeliveryMeasures> {
  const [row] = await MEASURE.rows(on, {})
  if (row === undefined) throw new Error('a statement that always answers a row answered none')
  return { oldestAgeSeconds: Math.max(0, row.oldest_age_seconds), disabledCount: row.disabled_count }
}
