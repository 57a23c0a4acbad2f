import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'
import { AVAILABLE } from './accounts.js'

/** Money that comes from outside or goes there. */
export type MovementKind = 'deposit' | 'withdrawal'

/** A movement of money between an account and the outside world. */
export interface Movement {
  /** Id (UUID) of its transfer, which makes it idempotent. */
  readonly id: string
  readonly kind: MovementKind
  readonly accountName: string
  /** In units of the account's asset; above 0. */
  readonly value: bigint
}

interface MoveValues {
  readonly [name: string]: string
  readonly id: string
  readonly accountName: string
  readonly value: string
  readonly now: string
}

const [ID, NAME, VALUE, NOW] = [
  Prisma.sql`${placeholder('id')}::uuid`,
  Prisma.sql`${placeholder('accountName')}::text`,
  Prisma.sql`${placeholder('value')}::numeric`,
  Prisma.sql`${placeholder('now')}::timestamptz`
]

// One statement each, so that the transfer and the account's total are written together, and of two calls with the same id
// the second finds the transfer and moves nothing.
const STATEMENTS: Readonly<Record<MovementKind, Statement<{ id: string }, MoveValues>>> = {
  deposit: new Statement(
    'deposit',
    Prisma.sql`
  with moved as (
    insert into transfer (id, kind, state, debit_account_id, debit_account_kind, credit_account_id, credit_account_kind,
                          asset_id, amount, posted_amount, created_at, ended_at)
    select ${ID}, 'deposit', 'posted', outside.id, outside.kind, target.id, target.kind, target.asset_id, ${VALUE}, ${VALUE},
           ${NOW}, ${NOW}
      from account target join account outside on outside.asset_id = target.asset_id and outside.kind = 'outside'
     where target.name = ${NAME}
    on conflict (id) do nothing
    returning credit_account_id)
  update account set credits_posted = credits_posted + ${VALUE} from moved where account.id = moved.credit_account_id
  returning account.id`
  ),
  // The account is locked first: the available money must still be there when the transfer is written.
  withdrawal: new Statement(
    'withdraw',
    Prisma.sql`
  with source as (
    select id, kind, asset_id from account
     where name = ${NAME} and ${AVAILABLE} >= ${VALUE}
       for no key update
  ), moved as (
    insert into transfer (id, kind, state, debit_account_id, debit_account_kind, credit_account_id, credit_account_kind,
                          asset_id, amount, posted_amount, created_at, ended_at)
    select ${ID}, 'withdrawal', 'posted', source.id, source.kind, outside.id, outside.kind, source.asset_id, ${VALUE},
           ${VALUE}, ${NOW}, ${NOW}
      from source join account outside on outside.asset_id = source.asset_id and outside.kind = 'outside'
    on conflict (id) do nothing
    returning debit_account_id)
  update account set debits_posted = debits_posted + ${VALUE} from moved where account.id = moved.debit_account_id
  returning account.id`
  )
}

/**
 * Moves money between an account and the outside world.
 *
 * @returns false when nothing was moved: the account does not exist, it has less available, or the id is taken
 */
export async function move(
  on: Queries,
  { id, kind, accountName, value }: Movement,
  nowMs: number
): Promise<boolean> {
  const rows = await STATEMENTS[kind].rows(on, {
    id,
    accountName,
    value: value.toString(),
    now: instantText(nowMs)
  })
  return rows.length === 1
}

const LOCK = new Statement(
  'lock-account',
  Prisma.sql`select id from account where name = ${placeholder('name')}::text and kind = 'wallet' for no key update`,
  { prepared: false }
)

/** Lets nothing else change the totals of a wallet account, if there is one, before the end of the transaction. */
export async function lockAccount(transaction: Queries, name: string): Promise<void> {
  await LOCK.rows(transaction, { name })
}

/** The transfer with an id, with the fields that identify a movement: its account is the one that is not outside. */
export async function findMovement(
  on: Queries,
  id: string
): Promise<{ readonly kind: string; readonly accountId: string; readonly value: bigint } | undefined> {
  const found = await on.transfer.findUnique({
    where: { id },
    select: { kind: true, amount: true, debitAccountId: true, creditAccountId: true }
  })
  if (found === null) return undefined
  const accountId = found.kind === 'deposit' ? found.creditAccountId : found.debitAccountId
  return { kind: found.kind, accountId, value: BigInt(found.amount.toFixed(0)) }
}
