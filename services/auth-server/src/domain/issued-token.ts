import { type Clock, hashSecret, newId, type Random, randomSecret } from '@open-payments-server/runtime'
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

/** A new access token: what is stored of it, and what only the client is told. */
export interface IssuedToken {
  /** Management id (UUID). */
  readonly id: string
  /** SHA-256 of its value. */
  readonly hash: Buffer
  readonly createdAt: Date
  readonly expiresAt: Date
  /** How the client is told of it; the only place that has the value. */
  tellClient(access: readonly AccessItem[]): AccessTokenWire
}

/** Makes an access token of 256 bits from the random source, with a full lifetime and a management address of its own. */
export function makeToken({ clock, random, addresses, tokenLifetimeSeconds }: TokenMaker): IssuedToken {
  const value = randomSecret(random)
  const id = newId(clock, random)
  const createdAt = new Date(clock.now())
  return {
    id,
    hash: hashSecret(value),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + tokenLifetimeSeconds * 1_000),
    tellClient: (access) => ({
      value,
      manage: addresses.manageUri(id),
      expires_in: tokenLifetimeSeconds,
      access: access.map(formatAccessItem)
    })
  }
}
