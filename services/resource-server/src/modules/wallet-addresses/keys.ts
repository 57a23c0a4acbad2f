import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { LRUCache } from 'lru-cache'
import type { PublishedKeyDirectory, PublishedKeys } from '../../domain/client-keys.js'
import { findPathProblem } from '../../domain/wallet-address.js'
import { Prisma, type Queries } from '../database.js'
import { appended, type StoredEvent } from '../events/index.js'

/** Maximum number of wallet addresses whose keys are cached. */
const REMEMBERED_MAX = 10_000

/**
 * How long keys are cached, in milliseconds: long enough that a busy client costs one statement per second, and short
 * enough that a replica that is not told of a change hardly lags behind.
 */
export const KEYS_REMEMBERED_MS = 1_000

/** Finds keys in the database, with one statement, and caches them briefly. */
export function createPublishedKeyDirectory(dependencies: { database: Queries }): PublishedKeyDirectory {
  // The pending lookup is cached, and then its result: concurrent callers share it, its age counts from before the lookup,
  // and a result that was forgotten meanwhile is not cached.
  const remembered = new LRUCache<string, PublishedKeys | Promise<PublishedKeys | undefined>>({
    max: REMEMBERED_MAX,
    ttl: KEYS_REMEMBERED_MS,
    noUpdateTTL: true
  })
  const lookUp = (path: string): Promise<PublishedKeys | undefined> => {
    // Text that cannot be a path is not looked up: PostgreSQL might not even accept it.
    if (findPathProblem(path) !== undefined) return Promise.resolve(undefined)
    const asked = queryKeys(dependencies.database, path)
    remembered.set(path, asked)
    const replace = (keys: PublishedKeys | undefined): void => {
      if (remembered.peek(path) !== asked) return
      if (keys === undefined) remembered.delete(path)
      else remembered.set(path, keys)
    }
    asked.then(replace, () => {
      replace(undefined)
    })
    return asked
  }
  return {
    findKeys: (path) => remembered.get(path) ?? lookUp(path),
    forget(path) {
      remembered.delete(path)
    }
  }
}

/** One statement distinguishes a wallet address without keys from none. */
const KEYS = new Statement<{ kid: string | null; x: string | null }>(
  'wallet-address-keys',
  Prisma.sql`select k.kid, k.x
               from wallet_address w
               left join client_key k on k.wallet_address_id = w.id and k.revoked_at is null
              where w.path = ${placeholder('path')}
              order by k.created_at, k.kid`
)

async function queryKeys(on: Queries, path: string): Promise<PublishedKeys | undefined> {
  const rows = await KEYS.rows(on, { path })
  if (rows.length === 0) return undefined
  const keys = rows.flatMap(({ kid, x }) =>
    kid === null || x === null
      ? []
      : [{ kid, alg: 'EdDSA', use: 'sig', kty: 'OKP', crv: 'Ed25519', x } as const]
  )
  return { keys }
}

/** Fragment: the columns of an event of the part `changed`, but for its type. */
const CHANGED = Prisma.sql`
  wallet_address_id as subject_id,
  json_build_object('kid', kid, 'x', x, 'createdAt', created_at, 'revokedAt', revoked_at) as change`

/** One statement, with the event of it: Prisma's models cannot compose. */
const ADD = new Statement(
  'add-client-key',
  Prisma.sql`
  with changed as (
    insert into client_key (wallet_address_id, kid, x, created_at)
    values (${placeholder('walletAddressId')}::uuid, ${placeholder('kid')}::text, ${placeholder('x')}::text,
            ${placeholder('now')}::timestamptz)
    on conflict do nothing
    returning wallet_address_id, kid, x, created_at, revoked_at
  ), ${appended(Prisma.sql`select 'key.added' as type, ${CHANGED}, created_at as occurred_at from changed`)}
  select kid from changed`,
  { prepared: false }
)

/** As {@link ADD}. */
const REVOKE = new Statement(
  'revoke-client-key',
  Prisma.sql`
  with changed as (
    update client_key set revoked_at = ${placeholder('now')}::timestamptz
     where wallet_address_id = ${placeholder('walletAddressId')}::uuid and kid = ${placeholder('kid')}::text and revoked_at is null
    returning wallet_address_id, kid, x, created_at, revoked_at
  ), ${appended(Prisma.sql`select 'key.revoked' as type, ${CHANGED}, revoked_at as occurred_at from changed`)}
  select kid from changed`,
  { prepared: false }
)

/** What identifies a client key. */
export interface ClientKeyId {
  /** Id (UUID) of the wallet address. */
  readonly walletAddressId: string
  readonly kid: string
}

/** The number of keys of a wallet address that are not revoked. */
export function countKeys(on: Queries, walletAddressId: string): Promise<number> {
  return on.clientKey.count({ where: { walletAddressId, revokedAt: null } })
}

/**
 * Adds a key.
 *
 * @param key.x base64url-encoded Ed25519 public key
 * @returns false when its id is taken, even by a revoked key
 */
export async function addKey(
  on: Queries,
  { createdAtMs, ...key }: ClientKeyId & { readonly x: string; readonly createdAtMs: number }
): Promise<boolean> {
  return (await ADD.rows(on, { ...key, now: instantText(createdAtMs) })).length === 1
}

/** Whether a key exists, revoked or not. */
export async function hasKey(on: Queries, { walletAddressId, kid }: ClientKeyId): Promise<boolean> {
  const where = { walletAddressId_kid: { walletAddressId, kid } }
  return (await on.clientKey.findUnique({ where })) !== null
}

/** Revokes a key. @returns whether this call did it: false when it was revoked already, or there is none */
export async function revokeKey(
  on: Queries,
  { walletAddressId, kid }: ClientKeyId,
  nowMs: number
): Promise<boolean> {
  return (await REVOKE.rows(on, { walletAddressId, kid, now: instantText(nowMs) })).length === 1
}

/** A key, as it was when something happened to it. */
export interface ToldKey {
  /** Path of its wallet address. */
  readonly path: string
  readonly kid: string
  /** base64url-encoded Ed25519 public key. */
  readonly x: string
  readonly createdAtMs: number
  /** undefined unless it is revoked. */
  readonly revokedAtMs: number | undefined
}

/** What {@link CHANGED} has of a key. */
interface Change {
  readonly kid: string
  readonly x: string
  readonly createdAt: string
  readonly revokedAt: string | null
}

/**
 * Reads keys as they were when something happened to them.
 *
 * @returns the key of each event, in their order
 * @throws Error for an event of another kind
 */
export async function readToldKeys(on: Queries, events: readonly StoredEvent[]): Promise<readonly ToldKey[]> {
  if (events.length === 0) return []
  const ids = [...new Set(events.map(({ subjectId }) => subjectId))]
  const found = await on.walletAddress.findMany({
    where: { id: { in: ids } },
    select: { id: true, path: true }
  })
  const pathOf = new Map(found.map(({ id, path }) => [id, path]))
  return events.map(({ type, subjectId, change }) => {
    const path = pathOf.get(subjectId)
    if (path === undefined || change === undefined) throw new Error(`${type} tells of no key`)
    const { kid, x, createdAt, revokedAt } = change as unknown as Change
    return {
      path,
      kid,
      x,
      createdAtMs: Date.parse(createdAt),
      revokedAtMs: revokedAt === null ? undefined : Date.parse(revokedAt)
    }
  })
}
