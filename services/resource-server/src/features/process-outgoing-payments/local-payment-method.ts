import { inTransaction, isUnavailable } from '@open-payments-server/database'
import type { Clock, Logger, Random } from '@open-payments-server/runtime'
import { LRUCache } from 'lru-cache'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Database, Queries } from '../../modules/database.js'
import { createProviderAccounts } from '../../modules/ledger/index.js'
import type { Claim, PaymentMethod } from '../../modules/outgoing-payments/index.js'
import { claimPayments, processBatch, type ProcessBatchDeps } from './process-batch.js'

/** Most payments set aside at once. */
const SET_ASIDE_MAX = 1_000
/** How long a payment that could not be settled waits before it is tried again, in milliseconds. */
const SET_ASIDE_MS = 5_000

/** What the local payment method needs. */
export interface LocalPaymentDeps {
  readonly database: Database
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countEnded' | 'countIncomingCompleted'>
}

/**
 * Pays incoming payments that are hosted here, in the ledger: each batch is one short transaction. When a batch fails, its
 * payments are tried one by one, so that one that cannot be settled keeps none of the others.
 */
export function createLocalPaymentMethod(deps: LocalPaymentDeps): PaymentMethod {
  const processing = { ...deps, providerAccounts: createProviderAccounts() }
  // Payments that could not be settled wait a while: the oldest are claimed first, and would keep the others from their turn.
  const setAside = new LRUCache<string, true>({ max: SET_ASIDE_MAX, ttl: SET_ASIDE_MS })
  return {
    name: 'local',
    async processPending(limit) {
      const claim = { limit, except: [...setAside.keys()] }
      try {
        const ended = await endPayments(claim, processing)
        return { found: ended, ended }
      } catch (error) {
        if (isUnavailable(error)) throw error
        deps.logger.error({ err: error }, 'batch of payments not settled; trying one by one')
        return endOneByOne(claim, processing, (id) => setAside.set(id, true))
      }
    }
  }
}

/** @returns how many payments ended */
async function endPayments(claim: Claim, deps: LocalPaymentDeps & ProcessBatchDeps): Promise<number> {
  const { endings, filledCount } = await processBatch(claim, deps)
  // Once it is committed: a batch that is undone ended nothing.
  deps.counters.countIncomingCompleted(filledCount)
  for (const { settlement } of endings) deps.counters.countEnded(settlement.state)
  return endings.length
}

async function endOneByOne(
  claim: Claim,
  deps: LocalPaymentDeps & ProcessBatchDeps,
  onFailed: (id: string) => void
): Promise<{ found: number; ended: number }> {
  const ids = await inTransaction(deps.database, async (transaction: Queries) =>
    (await claimPayments(transaction, claim, deps.urls)).payments.map(({ id }) => id)
  )
  let ended = 0
  for (const id of ids) {
    try {
      ended += await endPayments({ limit: 1, ids: [id] }, deps)
    } catch (error) {
      onFailed(id)
      deps.logger.error({ err: error, paymentId: id }, 'payment not settled; it stays pending')
    }
  }
  return { found: ids.length, ended }
}
