import { isUnavailable } from '@open-payments-server/database'
import { type Clock, type Logger, newId, type Random } from '@open-payments-server/runtime'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { createProviderAccountDirectory, type ProviderAccountDirectory } from './provider-accounts.js'
import { type Claim, claimPayments, inTransaction, writeBatch } from './repository.js'
import { settleBatch, type SettledBatch } from './settle-batch.js'

/** Most payments set aside at once. */
const SET_ASIDE_MAX = 1_000
/** How long a payment that could not be settled waits before it is tried again, in milliseconds. */
const SET_ASIDE_MS = 5_000

/** What the local payment method needs. */
export interface LocalPaymentDeps {
  readonly pool: Pool
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
  const providerAccounts = createProviderAccountDirectory()
  // Payments that could not be settled wait a while: the oldest are claimed first, and would keep the others from their turn.
  const setAside = new LRUCache<string, true>({ max: SET_ASIDE_MAX, ttl: SET_ASIDE_MS })
  return {
    name: 'local',
    async processPending(limit) {
      const claim = { limit, except: [...setAside.keys()] }
      try {
        const ended = await processBatch(claim, providerAccounts, deps)
        return { found: ended, ended }
      } catch (error) {
        if (isUnavailable(error)) throw error
        deps.logger.error({ err: error }, 'batch of payments not settled; trying one by one')
        return processOneByOne(claim, providerAccounts, deps, (id) => setAside.set(id, true))
      }
    }
  }
}

/** @returns how many payments ended */
async function processBatch(
  claim: Claim,
  providerAccounts: ProviderAccountDirectory,
  deps: LocalPaymentDeps
): Promise<number> {
  const { endings, filledCount } = await endPayments(claim, providerAccounts, deps)
  // Once it is committed: a batch that is undone ended nothing.
  deps.counters.countIncomingCompleted(filledCount)
  for (const { settlement } of endings) deps.counters.countEnded(settlement.state)
  return endings.length
}

function endPayments(
  claim: Claim,
  providerAccounts: ProviderAccountDirectory,
  { pool, urls, clock, random }: LocalPaymentDeps
): Promise<Pick<SettledBatch, 'endings' | 'filledCount'>> {
  return inTransaction(pool, async (client) => {
    const { payments, receivers } = await claimPayments(client, claim, urls)
    if (payments.length === 0) return { endings: [], filledCount: 0 }
    const provider = await providerAccounts.find(
      client,
      payments.flatMap(({ debitAssetId, receiveAssetId }) => [debitAssetId, receiveAssetId])
    )
    // The time is taken once the receivers are locked: nothing can arrive after its expiry by waiting for the lock.
    const nowMs = clock.now()
    const batch = settleBatch(payments, receivers, provider, nowMs)
    await writeBatch(client, batch, nowMs, () => newId(clock, random))
    return batch
  })
}

async function processOneByOne(
  claim: Claim,
  providerAccounts: ProviderAccountDirectory,
  deps: LocalPaymentDeps,
  onFailed: (id: string) => void
): Promise<{ found: number; ended: number }> {
  const ids = await inTransaction(deps.pool, async (client) =>
    (await claimPayments(client, claim, deps.urls)).payments.map(({ id }) => id)
  )
  let ended = 0
  for (const id of ids) {
    try {
      ended += await processBatch({ limit: 1, ids: [id] }, providerAccounts, deps)
    } catch (error) {
      onFailed(id)
      deps.logger.error({ err: error, paymentId: id }, 'payment not settled; it stays pending')
    }
  }
  return { found: ids.length, ended }
}
