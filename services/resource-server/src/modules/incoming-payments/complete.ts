import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import { completedEvents } from './events.js'
import { isOpen } from './room.js'
import {
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  newestRefundsColumn,
  readIncomingPaymentRow,
  refundColumns
} from './row.js'

/** A request to complete a payment. */
export interface Completion {
  /** Id (UUID) of the payment. */
  readonly id: string
  readonly client: string
  /** Paths of the wallet addresses that the client's access covers; undefined when it covers any. */
  readonly paths: readonly string[] | undefined
  readonly nowMs: number
}

/** The result of a {@link Completion}. */
export interface CompletionResult {
  /** The payment after its completion, or as it was found if it could not be completed. */
  readonly payment: IncomingPayment
  /** Whether this request completed it. */
  readonly done: boolean
}

const [ID, CLIENT, PATHS, NOW] = [
  Prisma.sql`${placeholder('id')}::uuid`,
  Prisma.sql`${placeholder('client')}::text`,
  Prisma.sql`${placeholder('paths')}::text[]`,
  Prisma.sql`${placeholder('now')}::timestamptz`
]

/**
 * One statement for condition and change, so that of two racing requests one completes the payment. The update sees the
 * latest row: what it returns, not what the select found, is the payment after it.
 */
const COMPLETE = new Statement<IncomingPaymentRow & { readonly done: boolean }>(
  'complete-incoming-payment',
  Prisma.sql`
  with found as (
    select p.*, w.path, s.code, s.scale from incoming_payment p ${INCOMING_PAYMENT_JOINS} where p.id = ${ID}
  ), completed as (
    update incoming_payment p
       set completed = true, updated_at = greatest(${NOW}, p.updated_at)
      from found
     where p.id = found.id and p.client = ${CLIENT} and (${PATHS} is null or found.path = any (${PATHS}))
       and ${isOpen(Prisma.sql`p`, NOW)}
    returning p.id, p.received_value, p.completed, p.updated_at
  ), ${appended(completedEvents)}
  select found.id, found.client, found.incoming_value::text, found.expires_at, found.metadata, found.created_at,
         found.path, found.code, found.scale, completed.updated_at is not null as done,
         coalesce(completed.received_value, found.received_value)::text as received_value,
         found.completed or completed.updated_at is not null as completed,
         coalesce(completed.updated_at, found.updated_at) as updated_at,
         ${refundColumns(Prisma.sql`found`)}, ${newestRefundsColumn(Prisma.sql`found`)}
    from found left join completed on true`
)

/**
 * Completes a payment that the client created, if its access covers it and it is neither completed nor expired.
 *
 * @returns undefined when there is no such payment
 */
export async function completeIncomingPayment(
  on: Queries,
  { id, client, paths, nowMs }: Completion,
  urls: ResourceUrls
): Promise<CompletionResult | undefined> {
  const now = instantText(nowMs)
  const [row] = await COMPLETE.rows(on, { id, client, paths: paths ?? null, now })
  return row && { payment: readIncomingPaymentRow(row, urls), done: row.done }
}
