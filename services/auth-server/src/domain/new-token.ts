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
  /**
   * The answer to the client; the only place with the value.
   *
   * @param expiresAtMs when it expires, if its grant ends before its lifetime does
   */
  tellClient(access: readonly AccessItem[], expiresAtMs?: number): AccessTokenWire
}

/** Creates an access token of 256 bits from the random source, with a full lifetime and its own management address. */
export function makeToken({ clock, random, addresses, tokenLifetimeSeconds }: TokenMaker): NewToken {
  const value = randomSecret(random)
  const id = newId(clock, random)
  const createdAtMs = clock.now()
  const fullExpiryMs = createdAtMs + tokenLifetimeSeconds * 1_000
  return {
    id,
    hash: hashSecret(value),
    createdAtMs,
    expiresAtMs: fullExpiryMs,
    tellClient: (access, expiresAtMs = fullExpiryMs) => ({
      value,
      manage: addresses.manageUri(id),
      expires_in: Math.max(1, Math.floor((expiresAtMs - createdAtMs) / 1_000)),
      access: access.map(formatAccessItem)
    })
  }
}
