import { LRUCache } from 'lru-cache'
import type { BoundClient } from './clients.js'

/** Whose a token is. Never changes, whatever becomes of the token. */
export interface HeldToken {
  /** Its management id (UUID). */
  readonly id: string
  /** SHA-256 of its value. */
  readonly secretHash: Buffer
  /** Who holds its grant: only that client may rotate and revoke it. */
  readonly holder: BoundClient
}

/** Most that is remembered, in characters: room for some 11,000 tokens, and never more than 8 MiB. */
export const HELD_TOKENS_CHARACTERS_MAX = 4_000_000

/** Most clients of which one object stands for all their tokens. */
const SHARED_HOLDERS_MAX = 1_000

/** What a token counts for besides the texts of its holder: its id, its hash, and the objects around them. */
const TOKEN_CHARACTERS = 250

/** A token without its id; the hash as base64, since a buffer takes several times as much memory. */
interface Remembered {
  readonly secretHash: string
  readonly holder: BoundClient
}

/**
 * Remembers whose tokens are, least recently used out first, so that managing one needs no look at the database before its
 * signature is verified. Whether a token is still alive is not remembered: that is for the statement that changes it to say.
 */
export class HeldTokens {
  readonly #remembered = new LRUCache<string, Remembered>({
    maxSize: HELD_TOKENS_CHARACTERS_MAX,
    sizeCalculation: ({ holder }) => TOKEN_CHARACTERS + charactersOf(holder)
  })

  /** Holders by what they are: a client asks for many tokens, and says each time anew who it is. */
  readonly #holders = new LRUCache<string, BoundClient>({ max: SHARED_HOLDERS_MAX })

  /** How many are remembered now. */
  get size(): number {
    return this.#remembered.size
  }

  /** @returns undefined for a token that is not remembered, which says nothing about it */
  find(id: string): HeldToken | undefined {
    const remembered = this.#remembered.get(id)
    return (
      remembered && {
        id,
        secretHash: Buffer.from(remembered.secretHash, 'base64'),
        holder: remembered.holder
      }
    )
  }

  /** Call it for tokens that are there: those that were written, or read. */
  remember({ id, secretHash, holder }: HeldToken): void {
    this.#remembered.set(id, { secretHash: secretHash.toString('base64'), holder: this.#shared(holder) })
  }

  /** Makes room where a token is over. */
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
