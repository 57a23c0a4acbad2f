import { AmountError, parseAmountValue } from '@open-payments-server/amounts'
import { isUuid } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import { OperationRefused } from '../../domain/operation-refused.js'
import { getAccount, type OperatedAccount } from './accounts.js'
import type { OperatorDeps } from './deps.js'

/** Money that comes from outside, or goes there. */
export interface MoneyMovement {
  /** Id (UUID) that makes repeating it safe. */
  readonly id: string
  readonly accountName: string
  /** How much, as a decimal string in units of the account's asset; above 0. */
  readonly value: string
}

type Direction = 'deposit' | 'withdrawal'

// One statement each, so that the transfer and the account's total are one, and so that of two calls with the same id the
// second finds the transfer and moves nothing.
const DEPOSIT = `
  with moved as (
    insert into transfer (id, kind, state, debit_account_id, debit_account_kind, credit_account_id, credit_account_kind,
                          asset_id, amount, posted_amount, created_at, ended_at)
    select $1, 'deposit', 'posted', outside.id, outside.kind, target.id, target.kind, target.asset_id, $3::numeric,
           $3::numeric, $4, $4
      from account target join account outside on outside.asset_id = target.asset_id and outside.kind = 'outside'
     where target.name = $2
    on conflict (id) do nothing
    returning credit_account_id)
  update account set credits_posted = credits_posted + $3::numeric from moved where account.id = moved.credit_account_id`

// The account is locked first: what is available must still be there when the transfer is written.
const WITHDRAW = `
  with source as (
    select id, kind, asset_id from account
     where name = $2 and credits_posted - debits_posted - debits_pending >= $3::numeric
       for no key update
  ), moved as (
    insert into transfer (id, kind, state, debit_account_id, debit_account_kind, credit_account_id, credit_account_kind,
                          asset_id, amount, posted_amount, created_at, ended_at)
    select $1, 'withdrawal', 'posted', source.id, source.kind, outside.id, outside.kind, source.asset_id, $3::numeric,
           $3::numeric, $4, $4
      from source join account outside on outside.asset_id = source.asset_id and outside.kind = 'outside'
    on conflict (id) do nothing
    returning debit_account_id)
  update account set debits_posted = debits_posted + $3::numeric from moved where account.id = moved.debit_account_id`

/**
 * Brings money into an account from outside. The same id with the same content has no further effect.
 *
 * @returns the account after it
 * @throws OperationRefused `invalid`, `not-found` for the account, or `already-exists` for the id with other content
 */
export async function deposit(movement: MoneyMovement, deps: OperatorDeps): Promise<OperatedAccount> {
  const value = readMovement(movement, 'deposit_id')
  const moved = await move(DEPOSIT, movement, value, deps)
  const account = await getAccount(movement.accountName, deps)
  if (!moved) await assertSameMovement('deposit', movement, value, account.id, deps.pool)
  return account
}

/**
 * Takes money out of an account. The same id with the same content has no further effect.
 *
 * @returns the account after it
 * @throws OperationRefused `invalid`, `not-found` for the account, `not-possible` when the available balance is short, or
 *   `already-exists` for the id with other content
 */
export async function withdraw(movement: MoneyMovement, deps: OperatorDeps): Promise<OperatedAccount> {
  const value = readMovement(movement, 'withdrawal_id')
  const moved = await move(WITHDRAW, movement, value, deps)
  const account = await getAccount(movement.accountName, deps)
  if (!moved && !(await assertSameMovement('withdrawal', movement, value, account.id, deps.pool))) {
    throw new OperationRefused(
      'not-possible',
      'value',
      `the account ${movement.accountName} has less than that available`
    )
  }
  return account
}

async function move(
  statement: string,
  { id, accountName }: MoneyMovement,
  value: bigint,
  { pool, clock }: OperatorDeps
): Promise<boolean> {
  const { rowCount } = await pool.query(statement, [id, accountName, value.toString(), new Date(clock.now())])
  return rowCount === 1
}

/**
 * @returns false when there is no transfer of this id
 * @throws OperationRefused when there is another one
 */
async function assertSameMovement(
  direction: Direction,
  { id }: MoneyMovement,
  value: bigint,
  accountId: string,
  pool: Pool
): Promise<boolean> {
  const { rows } = await pool.query<{ same: boolean }>(
    `select kind = $2::transfer_kind and amount = $3::numeric
            and case kind when 'deposit' then credit_account_id else debit_account_id end = $4 as same
       from transfer where id = $1`,
    [id, direction, value.toString(), accountId]
  )
  if (rows[0]?.same === false) {
    throw new OperationRefused(
      'already-exists',
      `${direction}_id`,
      `the ${direction}_id names another transfer`
    )
  }
  return rows.length === 1
}

function readMovement({ id, value }: MoneyMovement, idField: string): bigint {
  if (!isUuid(id)) throw new OperationRefused('invalid', idField, `${idField} must be a lower-case UUID`)
  const parsed = parseValue(value)
  if (parsed === 0n) throw new OperationRefused('invalid', 'value', 'value must be above 0')
  return parsed
}

function parseValue(value: string): bigint {
  try {
    return parseAmountValue(value)
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    throw new OperationRefused('invalid', 'value', error.message)
  }
}
