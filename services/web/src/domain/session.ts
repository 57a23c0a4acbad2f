import type { Claimant } from './grant.js'

/** Somebody who is signed in. */
export interface Session extends Claimant {
  /** Random (256 bits): names the session when it ends, and binds forms to it. */
  readonly id: string
  /** When they signed in, in whole seconds since 1970. */
  readonly startedSeconds: number
  /** What the issuer calls them; undefined when it does not say. */
  readonly name: string | undefined
  /** Names the session at the issuer (`sid`), which may say that it has ended; undefined where the issuer names none. */
  readonly issuerSession: string | undefined
  /** Roles of an operator, among those that are known here. */
  readonly roles: readonly string[]
}

/** Whether a text is a path on this site: what a browser takes for another site, or for anything else, is not (RFC 3986 §4.2). */
export function isLocalPath(text: string): boolean {
  return (
    /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text) &&
    new URL(text, 'http://localhost').origin === 'http://localhost'
  )
}
