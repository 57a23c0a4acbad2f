import type { wallet } from '@open-payments-server/proto'
import { type Listed, listPages } from './messages.js'
import type { OperatorClient } from './operator-client.js'

const REPEATABLE = { idempotent: true }

/** The operator calls about what happened to payments and accounts. Every method throws as those of {@link OperatorClient}. */
export class LifeClient {
  readonly #client: OperatorClient

  constructor(client: OperatorClient) {
    this.#client = client
  }

  /** Reads all that belongs to a payment, of either kind, by its id (UUID). */
  show(paymentId: string): Promise<wallet.GetPaymentLifeResponse> {
    return this.#client.callWallet('getPaymentLife', { paymentId }, REPEATABLE)
  }

  /** Lists what moved the money of an account, newest first. */
  statement(accountName: string, limit: number): Promise<Listed<wallet.LedgerEntry>> {
    return listPages(limit, async (page) => {
      const answer = await this.#client.callWallet('listAccountEntries', { accountName, ...page }, REPEATABLE)
      return { items: answer.entries, nextPageToken: answer.nextPageToken }
    })
  }

  /** What happened to outgoing payments in each of the last hours, the oldest first. */
  async hours(hours: number): Promise<readonly wallet.PaymentHour[]> {
    return (await this.#client.callWallet('countPayments', { hours }, REPEATABLE)).hours
  }
}
