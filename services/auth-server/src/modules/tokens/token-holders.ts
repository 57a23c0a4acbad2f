import { LRUCache } from 'lru-cache'
import type { BoundClient } from '../../domain/clients.js'
import type { ManagedToken } from '../../domain/token-record.js'

/** Maximum size of the cache, in characters: room for some 11,000 tokens, and never more than 8 MiB. */
export const TOKEN_HOLDERS_CHARACTERS_MAX = 4_000_000

/** Maximum number of clients whose tokens share one object. */
const SHARED_HOLDERS_MAX = 1_000

/** Size counted for a token besides its token holder's texts: its id, its hash, and the objects around them. */
const TOKEN_CHARACTERS = 250

/** A token without its id; the hash as base64, because a buffer takes several times as much memory. */
interface Remembered {
  readonly secretHash: string
  readonly holder: BoundClient
}

/**
 * Caches the token holders of tokens, dropping the least recently used, so that managing one needs no statement before its
 * signature is verified. Whether a token is still active is not cached: the statement that changes it checks.
 */
export class TokenHolders {
  readonly #remembered = new LRUCache<string, Remembered>({
    maxSize: TOKEN_HOLDERS_CHARACTERS_MAX,
    sizeCalculation: ({ holder }) => TOKEN_CHARACTERS + charactersOf(holder)
  })

  /** Token holders by content: a client requests many tokens, and identifies itself anew each time. */
  readonly #holders = new LRUCache<string, BoundClient>({ max: SHARED_HOLDERS_MAX })

  /** Number of cached tokens. */
  get size(): number {
    return this.#remembered.size
  }

  /** @returns undefined for a token that is not cached, which says nothing about it */
  find(id: string): ManagedToken | undefined {
    const remembered = this.#remembered.get(id)
    return (
      remembered && {
        id,
        secretHash: Buffer.from(remembered.secretHash, 'base64'),
        holder: remembered.holder
      }
    )
  }

  /** To be called for existing tokens: those that were written or read. */
  remember({ id, secretHash, holder }: ManagedToken): void {
    this.#remembered.set(id, { secretHash: secretHash.toString('base64'), holder: this.#shared(holder) })
  }

  /** Removes a token that has ended. */
  forget(id: string): void {
    this.#remembered.delete(id)
  }

  #shared(holder: BoundClient): BoundClient {
    const { walletAddress, jwkThumbprint, keyId, keyX } = holder
    const key = JSON.stringify([walletAddress, jwkThumbprint, keyId, keyX])
    const known = this.#holders.get(key)
    if (known === undefined) this.#holders.set(key, holder)
    return known ?? holder
  }
}

function charactersOf({ walletAddress, jwkThumbprint, keyId, keyX }: BoundClient): number {
  return (walletAddress?.length ?? 0) + (jwkThumbprint?.length ?? 0) + keyId.length + keyX.length
}
