import { inTransaction, isUnavailable } from '@open-payments-server/database'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Database, Queries } from '../../modules/database.js'
import { createProviderAccounts } from '../../modules/ledger/index.js'
import type { Claim } from '../../modules/outgoing-payments/index.js'
import { claimPayments, processBatch, type ProcessBatchDependencies } from './process-batch.js'

/** Maximum number of payments set aside at once. */
const SET_ASIDE_MAX = 1_000
/** How long a payment that could not be settled waits before it is retried, in milliseconds. */
const SET_ASIDE_MS = 5_000

/** The result of a round. */
export interface ProcessedRound {
  /** Number of pending payments that were found, up to the limit. */
  readonly found: number
  /** Number of them that ended, completed or failed. */
  readonly ended: number
}

/** Pays receivers that are hosted here. */
export interface LocalPayments {
  /** Processes up to `limit` pending payments, the oldest first. Several processes may do so at once. */
  processPending(limit: number): Promise<ProcessedRound>
}

/** What paying receivers that are hosted here needs. */
export interface LocalPaymentDependencies {
  readonly database: Database
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countEnded' | 'countIncomingCompleted'>
  /** Whether a freeze holds the pending payments that it is about. */
  readonly holdsFrozen: boolean
}

/**
 * Pays incoming payments that are hosted here, in the ledger: each batch is one short transaction. If a batch fails, its
 * payments are tried one by one, so that one that cannot be settled does not block the others.
 */
export function createLocalPayments(dependencies: LocalPaymentDependencies): LocalPayments {
  const processing = { ...dependencies, providerAccounts: createProviderAccounts() }
  // Payments that could not be settled wait a while: the oldest are claimed first, and would keep blocking the others.
  const setAside = new LRUCache<string, true>({ max: SET_ASIDE_MAX, ttl: SET_ASIDE_MS })
  return {
    async processPending(limit) {
      const { holdsFrozen, clock } = dependencies
      const claim = { limit, except: [...setAside.keys()], holdsFrozen, nowMs: clock.now() }
      try {
        const ended = await endPayments(claim, processing)
        return { found: ended, ended }
      } catch (error) {
        if (isUnavailable(error)) throw error
        dependencies.logger.error({ err: error }, 'batch of payments not settled; trying one by one')
        return endOneByOne(claim, processing, (id) => setAside.set(id, true))
      }
    }
  }
}

/** @returns the number of payments that ended */
async function endPayments(
  claim: Claim,
  dependencies: LocalPaymentDependencies & ProcessBatchDependencies
): Promise<number> {
  const { endings, filledCount } = await processBatch(claim, dependencies)
  // After the commit: a batch that is rolled back ended nothing.
  dependencies.counters.countIncomingCompleted(filledCount)
  for (const { settlement } of endings) dependencies.counters.countEnded(settlement.state)
  return endings.length
}

async function endOneByOne(
  claim: Claim,
  dependencies: LocalPaymentDependencies & ProcessBatchDependencies,
  onFailed: (id: string) => void
): Promise<{ found: number; ended: number }> {
  const ids = await inTransaction(dependencies.database, async (transaction: Queries) =>
    (await claimPayments(transaction, claim, dependencies.urls)).payments.map(({ id }) => id)
  )
  let ended = 0
  for (const id of ids) {
    try {
      ended += await endPayments({ ...claim, limit: 1, ids: [id], except: [] }, dependencies)
    } catch (error) {
      onFailed(id)
      dependencies.logger.error({ err: error, paymentId: id }, 'payment not settled; it stays pending')
    }
  }
  return { found: ids.length, ended }
}
