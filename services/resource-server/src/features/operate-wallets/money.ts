import type { Acting } from '@open-payments-server/service-kit/operators'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { readPositiveCallValue } from '../../domain/call-fields.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { Queries } from '../../modules/database.js'
import { findMovement, move, type MovementKind } from '../../modules/ledger/index.js'
import { getAccount, type OperatedAccount } from './accounts.js'
import type { OperatorDependencies } from './dependencies.js'

/** Money that comes from outside or goes there. */
export interface MoneyMovement {
  /** Id (UUID) that makes the call idempotent. */
  readonly id: string
  readonly accountName: string
  /** Amount as a decimal string in units of the account's asset; above 0. */
  readonly value: string
}

/**
 * Deposits money into an account from outside. The same id with the same content has no further effect.
 *
 * @returns the account after it
 * @throws CallRefused `invalid`, `not-found` for the account, or `already-exists` for the id with other content
 */
export async function deposit(
  movement: MoneyMovement,
  dependencies: OperatorDependencies & Acting
): Promise<OperatedAccount> {
  const value = readMovement(movement, 'deposit_id')
  const moved = await move(
    dependencies.database,
    { ...movement, kind: 'deposit', value },
    dependencies.clock.now()
  )
  const account = await getAccount(movement.accountName, dependencies)
  if (!moved) {
    await assertSameMovement('deposit', movement, value, account.id, dependencies.database)
    dependencies.onUnchanged()
  }
  return account
}

/**
 * Withdraws money from an account. The same id with the same content has no further effect.
 *
 * @returns the account after it
 * @throws CallRefused `invalid`, `not-found` for the account, `not-possible` when the available balance is too small,
 *   or `already-exists` for the id with other content
 */
export async function withdraw(
  movement: MoneyMovement,
  dependencies: OperatorDependencies & Acting
): Promise<OperatedAccount> {
  const value = readMovement(movement, 'withdrawal_id')
  const moved = await move(
    dependencies.database,
    { ...movement, kind: 'withdrawal', value },
    dependencies.clock.now()
  )
  const account = await getAccount(movement.accountName, dependencies)
  if (
    !moved &&
    !(await assertSameMovement('withdrawal', movement, value, account.id, dependencies.database))
  ) {
    throw new CallRefused(
      'not-possible',
      `the account ${movement.accountName} has less than that available`,
      { field: 'value' }
    )
  }
  if (!moved) dependencies.onUnchanged()
  return account
}

/**
 * @returns false when there is no transfer with this id
 * @throws CallRefused when there is a different one
 */
async function assertSameMovement(
  kind: MovementKind,
  { id }: MoneyMovement,
  value: bigint,
  accountId: string,
  database: Queries
): Promise<boolean> {
  const found = await findMovement(database, id)
  if (found === undefined) return false
  if (found.kind === kind && found.value === value && found.accountId === accountId) return true
  throw new CallRefused('already-exists', 'another transfer has this id', { field: `${kind}_id` })
}

function readMovement({ id, value }: MoneyMovement, idField: string): bigint {
  if (!isUuid(id)) throw invalidCallField(idField, 'must be a lower-case UUID')
  return readPositiveCallValue(value, 'value')
}
