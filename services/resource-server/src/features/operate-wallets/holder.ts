import type { Logger } from '@open-payments-server/runtime'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { invalidCallField } from '../../domain/call-refused.js'
import { findHolderProblem, type Holder } from '../../domain/holder.js'
import { findHeldAccounts, setHolder } from '../../modules/ledger/index.js'
import { getAccount, type OperatedAccount } from './accounts.js'
import { namesText, type OperatorDependencies } from './dependencies.js'

/** What setting holders needs. */
export interface HolderDependencies extends OperatorDependencies {
  readonly logger: Pick<Logger, 'info'>
  /** Signals that there are events to publish. */
  readonly onPaymentCreated: () => void
}

/** Finds which of some people an operator named as the holder of any account. */
export async function findHoldersAmong(
  people: readonly Holder[],
  { database }: Pick<OperatorDependencies, 'database'>
): Promise<readonly Holder[]> {
  const found = await Promise.all(
    people.map(async (person) => ((await findHeldAccounts(database, person, [])).length > 0 ? [person] : []))
  )
  return found.flat()
}

/** An operator's order. */
export interface HolderOrder {
  readonly accountName: string
  /** Who holds the account from now on; undefined for nobody. */
  readonly holder: Holder | undefined
  /** Who orders it: a person, or the names in a machine's certificate; none for a machine in plain text. */
  readonly clientNames: readonly string[]
}

/**
 * Says who holds an account. Repeating it has no further effect. Consent that was given before stays as it is.
 *
 * @returns the account after it
 * @throws CallRefused `invalid`, or `not-found` for the account
 */
export async function setAccountHolder(
  { accountName, holder, clientNames }: HolderOrder,
  dependencies: HolderDependencies & Acting
): Promise<OperatedAccount> {
  const wrong = holder && findHolderProblem(holder)
  if (wrong !== undefined) throw invalidCallField(`holder.${wrong.member}`, wrong.problem)
  const before = await getAccount(accountName, dependencies)
  const { database, clock, logger, onPaymentCreated } = dependencies
  const by = namesText(clientNames)
  if (await setHolder(database, accountName, { holder, by, nowMs: clock.now() })) {
    logger.info({ account: accountName, holder, by: clientNames }, 'holder changed')
    onPaymentCreated()
  } else dependencies.onUnchanged()
  return { ...before, holder }
}
