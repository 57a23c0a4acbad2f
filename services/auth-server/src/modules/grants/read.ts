import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { AccessItem } from '../../domain/access.js'
import type { ContinuedGrant } from '../../domain/continuation.js'
import type { GrantState, SubjectRequest } from '../../domain/grants.js'
import type { FinishRequest, InteractionRecord } from '../../domain/interactions.js'
import { Prisma, type Queries } from '../database.js'
import { isFrozenClient } from '../frozen-clients/index.js'
import { accessOf, restoreAccessItem, type StoredAccessItem } from './access-items.js'
import { HOLDER_COLUMNS, type StoredHolder } from './holder.js'

/** Reads grants with their access items, by Prisma's models. */
export const GRANT_WITH_ACCESS = {
  include: { accessItems: { orderBy: { position: 'asc' } } }
} as const satisfies Prisma.GrantDefaultArgs

type GrantRow = Prisma.GrantGetPayload<typeof GRANT_WITH_ACCESS>

function restoreAccess({ accessItems }: Pick<GrantRow, 'accessItems'>): AccessItem[] {
  return accessItems.map((item) =>
    restoreAccessItem({
      ...item,
      // Prisma's decimals print large numbers with an exponent unless fixed notation is requested.
      limitDebitValue: item.limitDebitValue?.toFixed() ?? null,
      limitReceiveValue: item.limitReceiveValue?.toFixed() ?? null
    })
  )
}

/** Restores the grant of an interaction, read with {@link GRANT_WITH_ACCESS}. */
export function restoreGrantOfInteraction(grant: GrantRow): InteractionRecord['grant'] {
  const client = grant.clientWalletAddress ?? ''
  return {
    id: grant.id,
    state: grant.state,
    continueBeforeMs: grant.continueBefore?.getTime(),
    endsAtMs: grant.endsAt?.getTime(),
    client,
    clientName: grant.clientName ?? client,
    access: restoreAccess(grant),
    subject: (grant.subject ?? undefined) as SubjectRequest | undefined, // only validated subjects are stored
    finish: restoreFinish(grant)
  }
}

function restoreFinish({ finishUri, finishNonce, finishHashMethod }: GrantRow): FinishRequest | undefined {
  if (finishUri === null || finishNonce === null) return undefined
  return { uri: finishUri, nonce: finishNonce, hashMethod: finishHashMethod ?? undefined }
}

/** A grant in an operator's list. */
export interface OperatedGrant {
  readonly id: string
  readonly state: GrantState
  readonly clientWalletAddress: string | null
  readonly clientJwkThumbprint: string | null
  readonly access: readonly AccessItem[]
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** Which grants to list. */
export interface GrantQuery {
  /** Only those with an access item for this wallet address. */
  readonly identifier: string | undefined
  /** Only those of this client. */
  readonly clientWalletAddress: string | undefined
  /** Only those in this state. */
  readonly state: GrantState | undefined
  /** Only those after this one. */
  readonly after: PageEnd | undefined
  readonly count: number
}

/** Lists grants, newest first: in the order of their ids, which begin with the time at which they were made. */
export async function listGrants(on: Queries, query: GrantQuery): Promise<OperatedGrant[]> {
  const ids = await on.$queryRaw<{ readonly id: string }[]>(selectIds(query))
  const grants = await on.grant.findMany({
    where: { id: { in: ids.map(({ id }) => id) } },
    orderBy: { id: 'desc' },
    ...GRANT_WITH_ACCESS
  })
  return grants.map(operatedGrantOf)
}

/** Each filter alone is found by an index that has the order of the list. States are not parameters: most grants are not in the index for the others. */
function selectIds({ identifier, clientWalletAddress, state, after, count }: GrantQuery): Prisma.Sql {
  const conditions = [
    Prisma.sql`true`,
    ...(clientWalletAddress === undefined
      ? []
      : [Prisma.sql`g.client_wallet_address = ${clientWalletAddress}`]),
    ...(state === undefined ? [] : [Prisma.sql`g.state = ${Prisma.raw(`'${state}'`)}`])
  ]
  const isWanted = Prisma.join(conditions, ' and ')
  const end = after?.id ?? LAST_ID
  if (identifier === undefined)
    return Prisma.sql`
      select g.id from grant_request g where ${isWanted} and g.id < ${end}::uuid order by g.id desc limit ${count}`
  return Prisma.sql`
    select distinct i.grant_id as id from access_item i
     where i.identifier = ${identifier} and i.grant_id < ${end}::uuid
       and exists (select 1 from grant_request g where g.id = i.grant_id and ${isWanted})
     order by i.grant_id desc limit ${count}`
}

/** No grant has it. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Finds a grant by its id (UUID). */
export async function findGrant(on: Queries, id: string): Promise<OperatedGrant | undefined> {
  const grant = await on.grant.findUnique({ where: { id }, ...GRANT_WITH_ACCESS })
  return grant === null ? undefined : operatedGrantOf(grant)
}

/** Restores a grant, read with {@link GRANT_WITH_ACCESS}. */
export function operatedGrantOf(grant: GrantRow): OperatedGrant {
  const { id, state, clientWalletAddress, clientJwkThumbprint, createdAt, updatedAt } = grant
  return {
    id,
    state,
    clientWalletAddress,
    clientJwkThumbprint,
    access: restoreAccess(grant),
    createdAtMs: createdAt.getTime(),
    updatedAtMs: updatedAt.getTime()
  }
}

/** Fragment, a condition: whether the token holder of a grant `g` is frozen. */
export const IS_HOLDER_FROZEN = isFrozenClient(
  Prisma.sql`coalesce(g.client_wallet_address, 'jwk:' || g.client_jwk_thumbprint)`
)

/**
 * Fragment, a condition: whether a client has a grant, of whatever state.
 *
 * @param client names it, as `nameClient` does
 */
export function hasGrant(client: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(
    exists (select 1 from grant_request g where g.client_wallet_address = ${client})
    or ${client} like 'jwk:%' and exists (select 1 from grant_request g where g.client_jwk_thumbprint = substring(${client} from 5)))`
}

/** The fields of a grant `g` that a continuation depends on: the columns of {@link ContinuableRow}. */
export const CONTINUABLE_COLUMNS = Prisma.sql`
  g.id, g.state, g.subject, g.finish_uri is not null as "hasFinish", g.continue_after as "continueAfter",
  g.continue_before as "continueBefore", g.rejection_reason as "rejectionReason",
  ${IS_HOLDER_FROZEN} as "clientFrozen", g.continuation_token_hash as "continuationTokenHash", ${HOLDER_COLUMNS}, ${accessOf(Prisma.sql`g.id`)} as access`

/** A grant, with the fields that a continuation depends on. */
export interface ContinuableRow extends StoredHolder {
  readonly id: string
  readonly state: GrantState
  readonly subject: SubjectRequest | null
  readonly hasFinish: boolean
  readonly continueAfter: Date | null
  readonly continueBefore: Date | null
  readonly rejectionReason: string | null
  readonly clientFrozen: boolean
  /** For `readBytes`. */
  readonly continuationTokenHash: string
  readonly access: readonly StoredAccessItem[]
}

/** Restores a grant from its {@link CONTINUABLE_COLUMNS}. */
export function restoreContinuable(
  row: ContinuableRow
): Omit<ContinuedGrant, 'holder' | 'interaction' | 'continuationToken'> {
  return {
    id: row.id,
    state: row.state,
    access: row.access.map(restoreAccessItem),
    subject: row.subject ?? undefined,
    hasFinish: row.hasFinish,
    continueAfterMs: row.continueAfter?.getTime(),
    continueBeforeMs: row.continueBefore?.getTime(),
    rejectionReason: row.rejectionReason ?? undefined,
    clientFrozen: row.clientFrozen
  }
}

/**
 * Access items with their limits: `access_item_id`, `grant_id`, `limit_debit_value`, `limit_debit_code`, `limit_debit_scale`,
 * `limit_receive_value`; null for no limit.
 */
export const ITEM_LIMITS = Prisma.sql`(
    select id as access_item_id, grant_id, limit_debit_value, limit_debit_code, limit_debit_scale, limit_receive_value
      from access_item)`

/**
 * The place of an access item in the access of its grant, from 0.
 *
 * @param itemId names the item's id
 */
export function placeOfItem(itemId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select position from access_item where id = ${itemId} limit 1)`
}

/**
 * The token holder of a grant: URL of the client's wallet address, or `jwk:` and its key's thumbprint; null without a
 * grant. Limited, so that it is looked up by its key and not joined with a table that is read as a whole.
 *
 * @param grantId names the grant's id
 */
export function clientOf(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(
    select coalesce(client_wallet_address, 'jwk:' || client_jwk_thumbprint) from grant_request where id = ${grantId} limit 1)`
}

/** What the fragments of this module read of a grant `g`. */
const COLUMNS = Prisma.sql`
  id, state, subject, finish_uri, continue_after, continue_before, rejection_reason, continuation_token_hash,
  client_wallet_address, client_jwk_thumbprint, client_name, key_id, key_x, created_at, updated_at, paused_at, ends_at,
  payable_until`

/**
 * All grants, each as `g`: to be joined by {@link GRANT_ID}, and read by the other fragments of this module. They cannot be
 * written by it.
 */
export const GRANTS = Prisma.sql`(select ${COLUMNS} from grant_request) g`

/** When a grant `g` last changed. */
export const GRANT_UPDATED_AT = Prisma.sql`g.updated_at`

/** The id of a grant `g`. */
export const GRANT_ID = Prisma.sql`g.id`

/**
 * The grant `g` with an id, to be joined. "lateral" and "limit" make PostgreSQL look up each grant by its key: a plan made
 * while there were few would read all of them instead.
 *
 * @param grantId names the grant's id
 */
export function grantByKey(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`lateral (select ${COLUMNS} from grant_request where id = ${grantId} limit 1) g`
}

/** The condition under which tokens of a grant `g` can be used before it ends: see {@link isBeforeEnd}. */
export const IS_ISSUED = Prisma.sql`g.state = 'issued'`

/**
 * Fragment, a condition: whether a grant `g` has not come to its end. What ends with what pays is no matter of its own: see `accessAt`.
 *
 * @param instant names the instant of which it is asked
 */
export function isBeforeEnd(instant: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(g.ends_at is null or g.ends_at > ${instant})`
}

/** The end of a grant `g`; null when it has none. */
export const GRANT_ENDS_AT = Prisma.sql`g.ends_at`

/** Fragment, a condition: whether the account holder of a grant `g` paused it. */
export const IS_PAUSED = Prisma.sql`(g.paused_at is not null)`
