import type { BoundClient } from './clients.js'

/** A client, as operators see it. */
export interface OperatedClient {
  /** See {@link nameClient}. */
  readonly client: string
  /** undefined unless it is frozen. */
  readonly freeze:
    | {
        /** In milliseconds since the Unix epoch. */
        readonly sinceMs: number
        /** Who ordered it: a person, or the names in a machine's certificate; empty for a machine in plain text. */
        readonly by: string
        /** Why; empty when no reason was given. */
        readonly reason: string
      }
    | undefined
}

/** A freeze, or the end of one, as events tell it: who ordered it, and why. */
export interface FreezeWire {
  readonly frozen: boolean
  readonly by: string
  readonly reason: string
}

/** What identifies a client: one of the two. */
export type ClientIdentity = Pick<BoundClient, 'walletAddress' | 'jwkThumbprint'>

/** Begins the name of a client that is identified only by its key. */
const JWK_PREFIX = 'jwk:'

/** Names a client: the URL of its wallet address, or `jwk:` and its key's thumbprint (RFC 7638). */
export function nameClient({ walletAddress, jwkThumbprint }: ClientIdentity): string {
  return walletAddress ?? `${JWK_PREFIX}${jwkThumbprint ?? ''}`
}

/** Reads what {@link nameClient} wrote. */
export function readClientName(name: string): ClientIdentity {
  return name.startsWith(JWK_PREFIX)
    ? { walletAddress: undefined, jwkThumbprint: name.slice(JWK_PREFIX.length) }
    : { walletAddress: name, jwkThumbprint: undefined }
}
