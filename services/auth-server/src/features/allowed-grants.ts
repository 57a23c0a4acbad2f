import { instantText, placeholder, Statement } from '@open-payments-server/database'
import {
  type ActingHolder,
  type AllowedGrant,
  allowedItem,
  type AllowedState
} from '../domain/allowed-grants.js'
import { CallRefused } from '../domain/call-refused.js'
import { isConsentOfAnother } from '../modules/consent-records/index.js'
import { Prisma, type Queries } from '../modules/database.js'
import {
  ALLOWED_COLUMNS,
  type AllowedRow,
  GRANT_ID,
  grantByKey,
  isAllowedState,
  restoreGrantedItem
} from '../modules/grants/index.js'
import { CONSENTED, consentedWalletAddressOf } from '../modules/interactions/index.js'
import { latestWindowsOf, type StoredWindow } from '../modules/limits/index.js'

/** The grants that were consented to for wallet addresses that someone holds now: for everyone who shows or changes them. */
const PERSON = {
  issuer: Prisma.sql`${placeholder('issuer')}::text`,
  sub: Prisma.sql`${placeholder('sub')}::text`
}
const WALLET_ADDRESSES = Prisma.sql`${placeholder('walletAddresses')}::text[]`

interface Row extends AllowedRow {
  readonly walletAddress: string
  readonly isConsentOfAnother: boolean
  readonly windows: readonly StoredWindow[]
}

const COLUMNS = Prisma.sql`
  ${ALLOWED_COLUMNS}, held.wallet_address as "walletAddress", ${latestWindowsOf(GRANT_ID)} as windows,
  ${isConsentOfAnother(GRANT_ID, PERSON)} as "isConsentOfAnother"`

const FIND = new Statement<Row>(
  'find-allowed-grant',
  Prisma.sql`
  select ${COLUMNS}
    from (select grant_id, wallet_address from ${CONSENTED} consented
           where grant_id = ${placeholder('grantId')}::uuid and wallet_address = any (${WALLET_ADDRESSES})) held
   cross join ${grantByKey(Prisma.sql`held.grant_id`)}`,
  { prepared: false }
)

const FIND_ANY = new Statement<
  Omit<Row, 'walletAddress' | 'isConsentOfAnother'> & { readonly walletAddress: string | null }
>(
  'find-operated-grant',
  Prisma.sql`
  select ${ALLOWED_COLUMNS}, ${consentedWalletAddressOf(GRANT_ID)} as "walletAddress", ${latestWindowsOf(GRANT_ID)} as windows
    from (select ${placeholder('grantId')}::uuid as grant_id) wanted cross join ${grantByKey(Prisma.sql`wanted.grant_id`)}`,
  { prepared: false }
)

/**
 * The page of each wallet address is read from its end by an index, and the pages are merged: their ids begin with the time. So it
 * costs what these wallet addresses have, and not what everybody has.
 */
const LIST = new Statement<Row>(
  'list-allowed-grants',
  Prisma.sql`
  select ${COLUMNS}
    from (select one.grant_id, one.wallet_address
            from unnest(${WALLET_ADDRESSES}) as wanted (wallet_address)
           cross join lateral (
             select consented.grant_id, consented.wallet_address
               from ${CONSENTED} consented
              cross join ${grantByKey(Prisma.sql`consented.grant_id`)}
              where consented.wallet_address = wanted.wallet_address
                and consented.grant_id < ${placeholder('before')}::uuid
                and ${isAllowedState}
              order by consented.grant_id desc limit ${placeholder('count')}::integer) one
           order by one.grant_id desc limit ${placeholder('count')}::integer) held
   cross join ${grantByKey(Prisma.sql`held.grant_id`)}
   order by held.grant_id desc`,
  { prepared: false }
)

/** After every id. */
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Lists grants that were consented to for wallet addresses that someone holds, newest first.
 *
 * @param page.before only those before this one (UUID); undefined begins with the newest
 */
export async function listAllowedGrants(
  on: Queries,
  acting: ActingHolder,
  page: {
    readonly state: AllowedState | undefined
    readonly before: string | undefined
    readonly count: number
  },
  nowMs: number
): Promise<readonly AllowedGrant[]> {
  const { state, before, count } = page
  const rows = await LIST.rows(on, {
    ...acting,
    state: state ?? null,
    before: before ?? LAST_UUID,
    count,
    now: instantText(nowMs)
  })
  return rows.map((row) => restore(row, nowMs))
}

/**
 * Finds a grant that was consented to for a wallet address that someone holds.
 *
 * @throws CallRefused `not-found`, also when it is of another wallet address
 */
export async function findAllowedGrant(
  on: Queries,
  acting: ActingHolder,
  grantId: string,
  nowMs: number
): Promise<AllowedGrant> {
  const [row] = await FIND.rows(on, { ...acting, grantId, now: instantText(nowMs) })
  if (row === undefined) throw new CallRefused('not-found', 'The grant is unknown', { field: 'grant_id' })
  return restore(row, nowMs)
}

/** Finds a grant for an operator, whoever consented to it. Its wallet address is empty where nobody did. */
export async function findOperatedGrant(
  on: Queries,
  grantId: string,
  nowMs: number
): Promise<AllowedGrant | undefined> {
  const [row] = await FIND_ANY.rows(on, { grantId, now: instantText(nowMs) })
  return row && restore({ ...row, walletAddress: row.walletAddress ?? '', isConsentOfAnother: false }, nowMs)
}

function restore(row: Row, nowMs: number): AllowedGrant {
  const windows = row.windows.map(restoreWindow)
  const charged = row.windows.flatMap(({ lastChargedAt }) =>
    lastChargedAt === null ? [] : [Date.parse(lastChargedAt)]
  )
  const { consentedTerms } = row
  const consented = new Map(
    consentedTerms?.access.map((stored) => [stored.id, restoreGrantedItem(stored).limits])
  )
  const endsAtMs = row.endsAt?.getTime()
  return {
    id: row.id,
    walletAddress: row.walletAddress,
    isConsentOfAnother: row.isConsentOfAnother,
    clientWalletAddress: row.clientWalletAddress ?? undefined,
    clientJwkThumbprint: row.clientJwkThumbprint ?? undefined,
    clientName: row.clientName ?? undefined,
    isRevoked: row.state === 'revoked' || row.state === 'rejected',
    state: row.allowedState,
    access: row.access.map((stored) => {
      const item = restoreGrantedItem(stored)
      const limits = consentedTerms === null ? item.limits : consented.get(item.id)
      return allowedItem(item, limits, windows, nowMs)
    }),
    createdAtMs: row.createdAt.getTime(),
    updatedAtMs: row.updatedAt.getTime(),
    lastUsedAtMs: charged.length === 0 ? undefined : Math.max(...charged),
    endsAtMs,
    consentedEndsAtMs: consentedTerms === null ? endsAtMs : readInstant(consentedTerms.endsAt),
    endedAtMs: row.endedAt?.getTime(),
    payableUntilMs: row.payableUntil?.getTime(),
    pausedAtMs: row.pausedAt?.getTime()
  }
}

function readInstant(text: string | null): number | undefined {
  return text === null ? undefined : Date.parse(text)
}

function restoreWindow(stored: StoredWindow) {
  const { accessItemId, intervalIndex, debitCode, debitScale, receiveCode, receiveScale } = stored
  return {
    accessItemId,
    intervalIndex: BigInt(intervalIndex),
    spentDebitAmount: {
      value: BigInt(stored.spentDebitValue),
      asset: { code: debitCode, scale: debitScale }
    },
    spentReceiveAmount: {
      value: BigInt(stored.spentReceiveValue),
      asset: { code: receiveCode, scale: receiveScale }
    }
  }
}
