import { isUnavailable } from '@open-payments-server/database'
import { type Clock, type Logger, newId, type Random } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { createProviderAccountDirectory, type ProviderAccountDirectory } from './provider-accounts.js'
import {
  type Claim,
  claimPayments,
  inTransaction,
  lockAccounts,
  lockReceivers,
  writeBatch
} from './repository.js'
import { settleBatch } from './settle-batch.js'

/** What the local payment method needs. */
export interface LocalPaymentDeps {
  readonly pool: Pool
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/**
 * Pays incoming payments that are hosted here, in the ledger: each batch is one short transaction. When a batch fails, its
 * payments are tried one by one, so that one that cannot be settled keeps none of the others.
 */
export function createLocalPaymentMethod(deps: LocalPaymentDeps): PaymentMethod {
  const providerAccounts = createProviderAccountDirectory()
  return {
    name: 'local',
    async processPending(limit) {
      try {
        const ended = await processBatch({ limit }, providerAccounts, deps)
        return { found: ended, ended }
      } catch (error) {
        if (isUnavailable(error)) throw error
        deps.logger.error({ err: error }, 'batch of payments not settled; trying one by one')
        return processOneByOne(limit, providerAccounts, deps)
      }
    }
  }
}

/** @returns how many payments ended */
async function processBatch(
  claim: Claim,
  providerAccounts: ProviderAccountDirectory,
  { pool, urls, clock, random }: LocalPaymentDeps
): Promise<number> {
  return inTransaction(pool, async (client) => {
    const payments = await claimPayments(client, claim, urls)
    if (payments.length === 0) return 0
    const provider = await providerAccounts.find(
      client,
      payments.flatMap(({ debitAssetId, receiveAssetId }) => [debitAssetId, receiveAssetId])
    )
    const receivers = await lockReceivers(
      client,
      unique(payments.map((payment) => payment.incomingPaymentId))
    )
    // The time is taken once the receivers are locked: nothing can arrive after its expiry by waiting for the lock.
    const nowMs = clock.now()
    const batch = settleBatch(payments, receivers, provider, nowMs)
    await lockAccounts(client, unique(batch.totals.map(({ accountId }) => accountId)))
    await writeBatch(client, batch, nowMs, () => newId(clock, random))
    return payments.length
  })
}

async function processOneByOne(
  limit: number,
  providerAccounts: ProviderAccountDirectory,
  deps: LocalPaymentDeps
): Promise<{ found: number; ended: number }> {
  const ids = await inTransaction(deps.pool, async (client) =>
    (await claimPayments(client, { limit }, deps.urls)).map(({ id }) => id)
  )
  let ended = 0
  for (const id of ids) {
    try {
      ended += await processBatch({ limit: 1, ids: [id] }, providerAccounts, deps)
    } catch (error) {
      deps.logger.error({ err: error, paymentId: id }, 'payment not settled; it stays pending')
    }
  }
  return { found: ids.length, ended }
}

function unique(ids: readonly (string | undefined)[]): string[] {
  return [...new Set(ids)].filter((id) => id !== undefined)
}
