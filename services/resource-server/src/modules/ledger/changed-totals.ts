import type { AccountTotals } from './post.js'

/** Sums changes by account: an update can change a row only once. */
export class ChangedTotals {
  readonly #changes = new Map<string, AccountTotals>()

  /** Adds a change of the totals of an account (UUID). */
  change(accountId: string, change: Partial<Omit<AccountTotals, 'accountId'>>): void {
    const before = this.#changes.get(accountId)
    const sum = (name: keyof Omit<AccountTotals, 'accountId'>): bigint =>
      (before?.[name] ?? 0n) + (change[name] ?? 0n)
    this.#changes.set(accountId, {
      accountId,
      debitsPending: sum('debitsPending'),
      debitsPosted: sum('debitsPosted'),
      creditsPosted: sum('creditsPosted')
    })
  }

  /** One for each account. */
  changes(): readonly AccountTotals[] {
    return [...this.#changes.values()]
  }
}
