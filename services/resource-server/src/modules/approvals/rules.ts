import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { ApprovalConditions } from '../../domain/approval.js'
import { Prisma, type Queries } from '../database.js'
import { accountOf } from '../wallet-addresses/index.js'
import { isPayeeKnown } from './payees.js'

/** Maximum number of rules: each payment is compared with those that name its wallet address, or none. */
const RULES_MAX = 1_000

/** A rule. */
export interface ApprovalRule extends ApprovalConditions {
  /** Id (UUID). */
  readonly id: string
  /** Path of the wallet address that pays; undefined for any. */
  readonly path: string | undefined
  readonly createdAtMs: number
}

/**
 * Fragment: the id of the oldest rule that a payment meets; null if it meets none. Computed by the statement that persists the
 * payment, so that none passes by a rule that was there before.
 *
 * @param payment names its columns; `payee` the wallet address of its receiver, which is read for rules about first payees only
 */
export function metRule(payment: {
  readonly debitValue: Prisma.Sql
  readonly walletAddressId: Prisma.Sql
  readonly client: Prisma.Sql
  readonly method: Prisma.Sql
  readonly payee: Prisma.Sql
}): Prisma.Sql {
  const { debitValue, walletAddressId, client, method, payee } = payment
  return Prisma.sql`(
    select rule.id from approval_rule rule
     where (rule.wallet_address_id = ${walletAddressId} or rule.wallet_address_id is null)
       and (${debitValue} > rule.above_value) is not false
       and (rule.client = ${client}) is not false
       and (rule.method = ${method}) is not false
       and (not rule.first_payee or not ${isPayeeKnown(walletAddressId, payee)})
     order by rule.created_at, rule.id limit 1)`
}

/**
 * Fragment: inserts a rule as {@link insertingRule} returns it, unless there are as many as there may be. Returns its `id` if it
 * was inserted.
 */
export const INSERTED_RULE = Prisma.sql`
  insert into approval_rule (id, above_value, wallet_address_id, client, first_payee, method, created_at)
  select ${placeholder('id')}::uuid, ${placeholder('aboveValue')}::numeric, ${placeholder('walletAddressId')}::uuid,
         ${placeholder('client')}::text, ${placeholder('firstPayee')}::boolean, ${placeholder('method')}::text,
         ${placeholder('createdAt')}::timestamptz
   where (select count(*) from approval_rule) < ${Prisma.raw(String(RULES_MAX))}
  returning id`

/** The parameters of {@link INSERTED_RULE}. */
export function insertingRule({
  id,
  createdAtMs,
  ...conditions
}: ApprovalConditions & { readonly id: string; readonly createdAtMs: number }): Record<string, unknown> {
  return {
    id,
    aboveValue: conditions.aboveValue?.toString() ?? null,
    walletAddressId: conditions.walletAddressId ?? null,
    client: conditions.client ?? null,
    firstPayee: conditions.firstPayee,
    method: conditions.method ?? null,
    createdAt: instantText(createdAtMs)
  }
}

interface RuleRow {
  readonly id: string
  readonly above_value: string | null
  readonly wallet_address_id: string | null
  readonly path: string | null
  readonly client: string | null
  readonly first_payee: boolean
  readonly method: ApprovalRule['method'] | null
  readonly created_at: Date
}

/** With the paths of wallet addresses, which only their module's fragments read. */
const RULES = new Statement<RuleRow>(
  'list-approval-rules',
  Prisma.sql`
  select r.id, r.above_value::text, r.wallet_address_id, payer.path, r.client, r.first_payee, r.method, r.created_at
    from approval_rule r
    left join lateral (
      select w.path from (select) one ${accountOf(Prisma.sql`r.wallet_address_id`)}) payer on true
   order by r.created_at, r.id`,
  { prepared: false }
)

/** All rules, oldest first. */
export async function listRules(on: Queries): Promise<readonly ApprovalRule[]> {
  return (await RULES.rows(on, {})).map((row) => ({
    id: row.id,
    aboveValue: row.above_value === null ? undefined : BigInt(row.above_value),
    walletAddressId: row.wallet_address_id ?? undefined,
    path: row.path ?? undefined,
    client: row.client ?? undefined,
    firstPayee: row.first_payee,
    method: row.method ?? undefined,
    createdAtMs: row.created_at.getTime()
  }))
}

/**
 * Deletes a rule. Payments that met it still await approval.
 *
 * @returns false when there is none
 */
export async function deleteRule(on: Queries, id: string): Promise<boolean> {
  return (await on.approvalRule.deleteMany({ where: { id } })).count === 1
}
