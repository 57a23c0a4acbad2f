import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret, newId, type Random, randomSecret } from '@open-payments-server/value-types/identifiers'
import { type AccessItem, formatAccessItem } from './access.js'
import type { AccessTokenWire } from './grants.js'
import type { ServiceAddresses } from './urls.js'

/** What making tokens needs. */
export interface TokenMaker {
  readonly clock: Clock
  readonly random: Random
  readonly addresses: ServiceAddresses
  readonly tokenLifetimeSeconds: number
}

/** A new access token: what is stored, and what only the client gets. */
export interface NewToken {
  /** Management id (UUID). */
  readonly id: string
  /** SHA-256 of its value. */
  readonly hash: Buffer
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** The answer to the client; the only place with the value. */
  tellClient(access: readonly AccessItem[]): AccessTokenWire
}

/** Creates an access token of 256 bits from the random source, with a full lifetime and its own management address. */
export function makeToken({ clock, random, addresses, tokenLifetimeSeconds }: TokenMaker): NewToken {
  const value = randomSecret(random)
  const id = newId(clock, random)
  const createdAtMs = clock.now()
  return {
    id,
    hash: hashSecret(value),
    createdAtMs,
    expiresAtMs: createdAtMs + tokenLifetimeSeconds * 1_000,
    tellClient: (access) => ({
      value,
      manage: addresses.manageUri(id),
      expires_in: tokenLifetimeSeconds,
      access: access.map(formatAccessItem)
    })
  }
}
