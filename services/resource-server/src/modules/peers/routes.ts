import { placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { Prisma, type Queries } from '../database.js'
import { assetById, payableOf } from '../ledger/index.js'
import { readLimit } from './row.js'

/** A peer as packets that are sent to it need it. */
export interface SendingPeer {
  /** Id (UUID). */
  readonly id: string
  readonly asset: Asset
  /** Where packets to it are posted. */
  readonly endpoint: string
  /** What it expects, encrypted. */
  readonly sealedOutgoingToken: string
  /** Id (UUID) of the account that says what the provider owes it. */
  readonly payableAccountId: string
}

interface SendingPeerRow {
  readonly id: string
  readonly code: string
  readonly scale: number
  readonly endpoint: string
  readonly outgoing_token: string
  readonly payable_account_id: string
}

const COLUMNS = Prisma.sql`p.id, s.code, s.scale, p.endpoint, p.outgoing_token, p.payable_account_id`
const JOINS = assetById(Prisma.sql`p.asset_id`, Prisma.sql`s`)
const PREFIXES = Prisma.sql`${placeholder('prefixes')}::text[]`
/** Whether packets to an address with these prefixes may go to the peer `p`. */
const IS_ABOVE = Prisma.sql`(p.ilp_address = any(${PREFIXES}) or p.routes && ${PREFIXES})`

// The longest of a peer's addresses decides. Each is compared with every prefix of the destination, which are few.
const TOWARDS = new Statement<SendingPeerRow>(
  'find-peers-towards',
  Prisma.sql`
  with reaching as (
    select p.id, max(length(route.prefix)) as length
      from peer p cross join lateral unnest(p.routes || p.ilp_address) as route (prefix)
     where ${IS_ABOVE} and route.prefix = any(${PREFIXES})
     group by p.id
  )
  select ${COLUMNS} from reaching join peer p on p.id = reaching.id ${JOINS}
   where reaching.length = (select max(length) from reaching)
   order by p.created_at, p.id`
)

/**
 * Finds the peers that packets to an address go to: those with the longest prefix of it among their addresses, the oldest first. There is one
 * for each asset at most times.
 *
 * @param address an ILP address (IL-RFC 15)
 */
export async function findPeersTowards(on: Queries, address: string): Promise<readonly SendingPeer[]> {
  const rows = await TOWARDS.rows(on, { prefixes: prefixesOf(address) })
  return rows.map(readRow)
}

const LEADS_ELSEWHERE = new Statement<{ readonly leads: boolean }>(
  'find-whether-address-leads-elsewhere',
  Prisma.sql`
  select exists (select 1 from peer p
                  where ${IS_ABOVE} and p.name <> ${placeholder('name')}) as leads`,
  { prepared: false }
)

/**
 * Whether packets to the address of a peer go to another one, unless this one takes them: a longer address comes first, and of equal ones that
 * in the payer's asset.
 *
 * @param peer its ILP address (IL-RFC 15), and its name
 */
export async function leadsElsewhere(
  on: Queries,
  { ilpAddress, name }: { readonly ilpAddress: string; readonly name: string }
): Promise<boolean> {
  const [row] = await LEADS_ELSEWHERE.rows(on, { prefixes: prefixesOf(ilpAddress), name })
  return row?.leads === true
}

/** The address, and every address above it: prefixes end between two segments. */
function prefixesOf(address: string): string[] {
  const segments = address.split('.')
  return segments.map((_, index) => segments.slice(0, index + 1).join('.'))
}

const BY_ID = new Statement<SendingPeerRow>(
  'find-peers-to-send',
  Prisma.sql`select ${COLUMNS} from peer p ${JOINS} where p.id = any (${placeholder('ids')}::uuid[])`
)

/** Finds the peers with some ids (UUID). */
export async function findSendingPeers(on: Queries, ids: readonly string[]): Promise<readonly SendingPeer[]> {
  const rows = await BY_ID.rows(on, { ids: [...ids] })
  return rows.map(readRow)
}

function readRow(row: SendingPeerRow): SendingPeer {
  return {
    id: row.id,
    asset: { code: row.code, scale: row.scale },
    endpoint: row.endpoint,
    sealedOutgoingToken: row.outgoing_token,
    payableAccountId: row.payable_account_id
  }
}

/** What decides how much more the provider may owe a peer. */
export interface PayableBound {
  readonly payableAccountId: string
  /** Maximum that the provider may owe it; undefined: any amount. */
  readonly limitValue: bigint | undefined
  readonly payableValue: bigint
}

const PAYABLE = new Statement<{
  readonly id: string
  readonly payable_account_id: string
  readonly payable_limit_value: string | null
  readonly payable_value: string
}>(
  'get-payable-bounds-of-peers',
  Prisma.sql`
  select p.id, p.payable_account_id, p.payable_limit_value::text,
         ${payableOf(Prisma.sql`p.payable_account_id`)}::text as payable_value
    from peer p where p.id = any (${placeholder('ids')}::uuid[])`
)

/**
 * Reads what decides how much more the provider may owe peers: exact while their payable accounts are locked.
 *
 * @param ids ids (UUID) of peers
 */
export async function readPayableBounds(
  on: Queries,
  ids: readonly string[]
): Promise<ReadonlyMap<string, PayableBound>> {
  if (ids.length === 0) return new Map()
  const rows = await PAYABLE.rows(on, { ids: [...ids] })
  return new Map(
    rows.map((row) => [
      row.id,
      {
        payableAccountId: row.payable_account_id,
        limitValue: readLimit(row.payable_limit_value),
        payableValue: BigInt(row.payable_value)
      }
    ])
  )
}
