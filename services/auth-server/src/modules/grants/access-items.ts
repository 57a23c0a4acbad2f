import { placeholder, Statement } from '@open-payments-server/database'
import { parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import type { AccessItem, AccessType, Limits } from '../../domain/access.js'
import type { GrantedAccessItem } from '../../domain/token-record.js'
import { Prisma, type Queries } from '../database.js'
import { restoreAmount } from '../restore-amount.js'

/** An access item in the database: amounts in parts, their values as decimal strings. */
export interface StoredAccessItem {
  readonly type: string
  readonly actions: readonly string[]
  readonly identifier: string | null
  readonly limitReceiver: string | null
  readonly limitInterval: string | null
  readonly limitDebitValue: string | null
  readonly limitDebitCode: string | null
  readonly limitDebitScale: number | null
  readonly limitReceiveValue: string | null
  readonly limitReceiveCode: string | null
  readonly limitReceiveScale: number | null
}

/**
 * Selects the access items of a grant, in their order, as JSON of {@link StoredAccessItem}s, each with its `id`.
 *
 * @param grantId names the grant's id
 */
export function accessOf(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  (select coalesce(json_agg(json_build_object(
            'id', a.id, 'type', a.type, 'actions', a.actions, 'identifier', a.identifier,
            'limitReceiver', a.limit_receiver, 'limitInterval', a.limit_interval,
            'limitDebitValue', a.limit_debit_value::text, 'limitDebitCode', a.limit_debit_code,
            'limitDebitScale', a.limit_debit_scale,
            'limitReceiveValue', a.limit_receive_value::text, 'limitReceiveCode', a.limit_receive_code,
            'limitReceiveScale', a.limit_receive_scale) order by a.position), '[]')
     from access_item a where a.grant_id = ${grantId})`
}

/** Converts an access item for the database. */
export function storeAccessItem(item: AccessItem): StoredAccessItem {
  const { debitAmount, receiveAmount } = item.limits ?? {}
  return {
    type: item.type,
    actions: item.actions,
    identifier: item.identifier ?? null,
    limitReceiver: item.limits?.receiver ?? null,
    limitInterval: item.limits?.interval ?? null,
    limitDebitValue: debitAmount?.value.toString() ?? null,
    limitDebitCode: debitAmount?.asset.code ?? null,
    limitDebitScale: debitAmount?.asset.scale ?? null,
    limitReceiveValue: receiveAmount?.value.toString() ?? null,
    limitReceiveCode: receiveAmount?.asset.code ?? null,
    limitReceiveScale: receiveAmount?.asset.scale ?? null
  }
}

/**
 * Converts an access item from the database. `restoreAccessItem(storeAccessItem(item))` equals `item`, except that limits
 * which limit nothing are omitted.
 */
export function restoreAccessItem(stored: StoredAccessItem): AccessItem {
  const limits = withoutUndefined({
    receiver: stored.limitReceiver ?? undefined,
    interval: stored.limitInterval ?? undefined,
    debitAmount: restoreAmount(stored.limitDebitValue, stored.limitDebitCode, stored.limitDebitScale),
    receiveAmount: restoreAmount(stored.limitReceiveValue, stored.limitReceiveCode, stored.limitReceiveScale)
  })
  return {
    type: stored.type as AccessType, // only validated items are ever stored
    actions: stored.actions,
    ...(stored.identifier === null ? {} : { identifier: stored.identifier }),
    ...(Object.keys(limits).length === 0 ? {} : { limits })
  }
}

/** Converts an access item from the database, with its id. */
export function restoreGrantedItem(stored: StoredAccessItem & { readonly id: string }): GrantedAccessItem {
  const { limitInterval } = stored
  const interval = limitInterval === null ? undefined : parseRepeatingInterval(limitInterval)
  return { ...restoreAccessItem(stored), id: stored.id, interval }
}

const FIND_ACCESS = new Statement<{
  readonly access: readonly (StoredAccessItem & { readonly id: string })[]
}>(
  'find-grant-access',
  Prisma.sql`
  select ${accessOf(Prisma.sql`g.id`)} as access from grant_request g where g.id = ${placeholder('grantId')}::uuid`
)

/**
 * Reads what a grant allows, whatever its state.
 *
 * @param grantId its id (UUID)
 * @returns undefined for an unknown grant
 */
export async function findAccess(
  on: Queries,
  grantId: string
): Promise<readonly GrantedAccessItem[] | undefined> {
  const [row] = await FIND_ACCESS.rows(on, { grantId })
  return row?.access.map(restoreGrantedItem)
}

function withoutUndefined(limits: Limits): Limits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}
