import { placeholder } from '@open-payments-server/database'
import type { AccessItem } from '../../domain/access.js'
import type { GrantActKind, Holder } from '../../domain/allowed-grants.js'
import type { DocumentedProof } from '../../domain/consent-proof.js'
import type { GrantedAccessItem } from '../../domain/token-record.js'
import { Prisma, type Queries } from '../database.js'
import { restoreGrantedItem, storeAccessItem, type StoredAccessItem } from './access-items.js'

/** What an account holder can change of a grant, as it is kept with their acts. */
export interface StoredTerms {
  readonly access: readonly (StoredAccessItem & { readonly id: string })[]
  /** ISO 8601; null when none is set. */
  readonly endsAt: string | null
  /** ISO 8601; null unless it is paused. */
  readonly pausedAt: string | null
}

/** What an account holder can change of a grant. */
export interface Terms {
  readonly access: readonly GrantedAccessItem[]
  readonly endsAtMs: number | undefined
  readonly pausedAtMs: number | undefined
}

/** An act of an account holder on a grant. */
export interface GrantChange {
  /** Id of the act (UUID). */
  readonly id: string
  readonly grantId: string
  readonly kind: GrantActKind
  readonly holder: Holder
  readonly before: Terms
  readonly after: Terms
  /** What proved that it was wanted; undefined where the caller was believed. */
  readonly proof: DocumentedProof | undefined
  /** Whether it counts only with a proof. */
  readonly needsProof: boolean
}

/** Fragment: locks the grant of the value `grantId`, so that its terms stay as the next statement reads them. */
export const heldGrants = Prisma.sql`
  select id from grant_request where id = ${placeholder('grantId')}::uuid for no key update`

/**
 * Fragment: the grant of the value `grantId` with the values `pausedAt` and `endsAt`, changed at the value `now` and in any case
 * later than before, because what is cached of it is known by that instant. Returns `acted_grant (grant_id, state, changed_at)`.
 */
export const actedGrants = Prisma.sql`
  acted_grant as (
    update grant_request
       set paused_at = ${placeholder('pausedAt')}::timestamptz, ends_at = ${placeholder('endsAt')}::timestamptz,
           updated_at = greatest(${placeholder('now')}::timestamptz, updated_at + interval '1 millisecond')
     where id = ${placeholder('grantId')}::uuid
    returning id as grant_id, state, updated_at as changed_at)`

/**
 * Fragment: lowers the limits of access items of `acted_grant` to those of the value `lowered`. Returns `lowered_item
 * (access_item_id, from_index, limit_debit_value, limit_receive_value)`, where `from_index` is the first interval to which a payment
 * may still be charged.
 */
export const loweredItems = Prisma.sql`
  lowered_item as (
    update access_item a
       set limit_debit_value = n."limitDebitValue", limit_debit_code = n."limitDebitCode", limit_debit_scale = n."limitDebitScale",
           limit_receive_value = n."limitReceiveValue"
      from acted_grant g cross join jsonb_to_recordset(${placeholder('lowered')}::jsonb) as n (
        id uuid, "fromIndex" bigint, "limitDebitValue" numeric, "limitDebitCode" text, "limitDebitScale" smallint,
        "limitReceiveValue" numeric)
     where a.grant_id = g.grant_id and a.id = n.id
    returning a.id as access_item_id, n."fromIndex" as from_index, a.limit_debit_value, a.limit_receive_value)`

/**
 * Fragment: records the act of {@link grantActValues} on `acted_grant (grant_id, changed_at)`.
 *
 * @param counted what the windows counted whose limits it lowered, as JSON
 */
export function insertedGrantActs(counted: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  inserted_grant_act as (
    insert into grant_act (
      id, grant_id, kind, before, after, counted, issuer, sub, at, needs_proof, document, id_token, ownership)
    select ${placeholder('actId')}::uuid, grant_id, ${placeholder('kind')}::grant_act_kind, ${placeholder('before')}::jsonb,
           ${placeholder('after')}::jsonb, ${counted}, ${placeholder('issuer')}::text, ${placeholder('sub')}::text, changed_at,
           ${placeholder('needsProof')}::boolean, ${placeholder('document')}::text, ${placeholder('idToken')}::text,
           ${placeholder('ownership')}::text
      from acted_grant)`
}

/** The values of {@link insertedGrantActs} and {@link grantActEvents}. */
export function grantActValues({ id, grantId, kind, holder, before, after, proof, needsProof }: GrantChange) {
  return {
    actId: id,
    grantId,
    kind,
    before: JSON.stringify(storeTerms(before)),
    after: JSON.stringify(storeTerms(after)),
    issuer: holder.issuer,
    sub: holder.sub,
    needsProof,
    document: proof?.document ?? null,
    idToken: proof?.idToken ?? null,
    ownership: proof?.ownership ?? null
  }
}

/** Fragment: selects the event of an act on `acted_grant`. */
export const grantActEvents = Prisma.sql`
  select 'grant.' || ${placeholder('kind')}::text as type, grant_id as subject_id,
         json_build_object('state', state, 'updatedAt', changed_at,
           'endsAt', case when ${placeholder('kind')}::text = 'lowered' then ${placeholder('after')}::jsonb -> 'endsAt' end) as change,
         changed_at as occurred_at
    from acted_grant`

function storeTerms({ access, endsAtMs, pausedAtMs }: Terms): StoredTerms {
  return {
    access: access.map((item) => ({ ...storeAccessItem(item), id: item.id })),
    endsAt: endsAtMs === undefined ? null : new Date(endsAtMs).toISOString(),
    pausedAt: pausedAtMs === undefined ? null : new Date(pausedAtMs).toISOString()
  }
}

function restoreTerms({ access, endsAt, pausedAt }: StoredTerms): Terms {
  return {
    access: access.map(restoreGrantedItem),
    endsAtMs: endsAt === null ? undefined : Date.parse(endsAt),
    pausedAtMs: pausedAt === null ? undefined : Date.parse(pausedAt)
  }
}

/**
 * Selects the terms of a grant as it was consented to, as JSON of {@link StoredTerms}; null if it was never lowered.
 *
 * @param grantId names the grant's id
 */
export function consentedTermsOf(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(
    select act.before from grant_act act where act.grant_id = ${grantId} and act.kind = 'lowered'
     order by act.at limit 1)`
}

/** An act as it is kept, without what proved it. */
export interface StoredAct extends Omit<GrantChange, 'proof' | 'needsProof'> {
  /** When it was done, in milliseconds since 1970. */
  readonly atMs: number
}

/** Reads what account holders did with a grant, the newest first, up to a number of acts. */
export async function findActs(
  on: Queries,
  grantId: string,
  countMax: number
): Promise<readonly StoredAct[]> {
  const rows = await on.grantAct.findMany({
    where: { grantId },
    orderBy: { at: 'desc' },
    take: countMax,
    omit: { document: true, idToken: true, ownership: true }
  })
  return rows.map(({ id, kind, issuer, sub, before, after, at }) => ({
    id,
    grantId,
    kind,
    holder: { issuer, sub },
    before: restoreTerms(before as unknown as StoredTerms), // only terms are ever stored
    after: restoreTerms(after as unknown as StoredTerms),
    atMs: at.getTime()
  }))
}

/** What a grant allowed before it was lowered. */
interface Lowering {
  readonly atMs: number
  readonly accessBefore: readonly AccessItem[]
}

/** Reads the lowerings of grants, by grant, the first ones first. */
export async function findLowerings(
  on: Queries,
  grantIds: readonly string[]
): Promise<ReadonlyMap<string, readonly Lowering[]>> {
  const rows = await on.grantAct.findMany({
    where: { grantId: { in: [...grantIds] }, kind: 'lowered' },
    orderBy: { at: 'asc' },
    select: { grantId: true, at: true, before: true }
  })
  const found = new Map<string, Lowering[]>()
  for (const { grantId, at, before } of rows) {
    const { access } = restoreTerms(before as unknown as StoredTerms) // only terms are ever stored
    found.set(grantId, [...(found.get(grantId) ?? []), { atMs: at.getTime(), accessBefore: access }])
  }
  return found
}
