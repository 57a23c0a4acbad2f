import type { Pool } from 'pg'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  readIncomingPaymentRow
} from '../../domain/incoming-payment-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** Who wants to complete a payment. */
export interface Completion {
  /** Id (UUID) of the payment. */
  readonly id: string
  readonly client: string
  /** Paths of the wallet addresses that the client's access covers; undefined when it covers any. */
  readonly paths: readonly string[] | undefined
  readonly nowMs: number
}

/** What came of it. */
export interface CompletionResult {
  /** The payment: after its completion, or as it was found when it could not be completed. */
  readonly payment: IncomingPayment
  /** Whether this very request completed it. */
  readonly done: boolean
}

/** Completes incoming payments. */
export interface IncomingPaymentCompleter {
  /**
   * Completes a payment that the client created, if its access covers it and it is neither completed nor expired.
   *
   * @returns undefined when there is no such payment
   */
  complete(completion: Completion): Promise<CompletionResult | undefined>
}

/**
 * One statement: the condition and the change cannot come apart, so that of two that race one completes the payment. The
 * update looks at the row as it is by then; what it returns, not what the select found, is the payment after it.
 */
const COMPLETE = `
  with found as (
    select ${INCOMING_PAYMENT_COLUMNS} from incoming_payment p ${INCOMING_PAYMENT_JOINS} where p.id = $1
  ), completed as (
    update incoming_payment p
       set completed = true, updated_at = greatest($4::timestamptz, p.updated_at)
      from found
     where p.id = found.id and p.client = $2 and ($3::text[] is null or found.path = any ($3))
       and not p.completed and p.expires_at > $4
    returning p.received_value, p.updated_at
  )
  select found.id, found.client, found.incoming_value, found.expires_at, found.metadata, found.created_at,
         found.path, found.code, found.scale, completed.updated_at is not null as done,
         coalesce(completed.received_value, found.received_value) as received_value,
         found.completed or completed.updated_at is not null as completed,
         coalesce(completed.updated_at, found.updated_at) as updated_at
    from found left join completed on true`

/** Completes incoming payments in the database. */
export function createIncomingPaymentCompleter(deps: {
  pool: Pool
  urls: ResourceUrls
}): IncomingPaymentCompleter {
  return {
    async complete({ id, client, paths, nowMs }) {
      const { rows } = await deps.pool.query<IncomingPaymentRow & { done: boolean }>({
        name: 'complete-incoming-payment',
        text: COMPLETE,
        values: [id, client, paths, new Date(nowMs)]
      })
      const [row] = rows
      return row === undefined
        ? undefined
        : { payment: readIncomingPaymentRow(row, deps.urls), done: row.done }
    }
  }
}
