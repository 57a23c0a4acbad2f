import type { Logger } from '@open-payments-server/runtime'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { Queries } from '../../modules/database.js'
import { findMissingPayments } from '../../modules/outgoing-payments/index.js'
import type { AnsweredPayments } from '../../domain/answered-payments.js'

/** Maximum number of payments that one statement looks for. */
const LOOKED_FOR_MAX = 10_000
/** Maximum number of ids that are logged. */
const LOGGED_MAX = 1_000

/** What reporting lost payments needs. */
export interface ReportDependencies {
  readonly database: Queries
  readonly answered: AnsweredPayments
  readonly counters: Pick<PaymentCounters, 'countLost'>
  readonly logger: Pick<Logger, 'info' | 'error'>
}

/**
 * Looks for the payments that this process answered lately, after another server took the place of the database. One that had not got
 * all of its commits yet has lost them: no audit can tell, where the reservations were lost with them.
 *
 * @returns number of those that are lost
 */
export async function reportLostPayments({
  database,
  answered,
  counters,
  logger
}: ReportDependencies): Promise<number> {
  const ids = answered.list()
  const lost: string[] = []
  for (let from = 0; from < ids.length; from += LOOKED_FOR_MAX) {
    lost.push(...(await findMissingPayments(database, ids.slice(from, from + LOOKED_FOR_MAX))))
  }
  if (lost.length === 0) {
    logger.info({ answered: ids.length }, 'no payment was lost that was answered lately')
    return 0
  }
  logger.error(
    { lost: lost.length, answered: ids.length, paymentIds: lost.slice(0, LOGGED_MAX) },
    'payments are lost that clients were told of'
  )
  counters.countLost(lost.length)
  lost.forEach((id) => {
    answered.forget(id)
  })
  return lost.length
}
