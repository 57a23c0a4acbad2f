import { placeholder, Statement } from '@open-payments-server/database'
import { LRUCache } from 'lru-cache'
import type { PublishedKeyDirectory, PublishedKeys } from '../../domain/client-keys.js'
import { findPathProblem } from '../../domain/wallet-address.js'
import { Prisma, type Queries } from '../database.js'

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
  const data = { ...key, createdAt: new Date(createdAtMs) }
  return (await on.clientKey.createMany({ data, skipDuplicates: true })).count === 1
}

/** Whether a key exists, revoked or not. */
export async function hasKey(on: Queries, { walletAddressId, kid }: ClientKeyId): Promise<boolean> {
  const where = { walletAddressId_kid: { walletAddressId, kid } }
  return (await on.clientKey.findUnique({ where })) !== null
}

/** Revokes a key, unless it is revoked. */
export async function revokeKey(
  on: Queries,
  { walletAddressId, kid }: ClientKeyId,
  nowMs: number
): Promise<void> {
  await on.clientKey.updateMany({
    where: { walletAddressId, kid, revokedAt: null },
    data: { revokedAt: new Date(nowMs) }
  })
}
