import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { InteractionAddress } from './identity-provider.js'

/** The purpose of a proof, which is valid for no other. */
export type ProofPurpose =
  /** In a form: shows that it was given to the browser that sends it. */
  | 'form'
  /** In a cookie: shows that this browser decided. */
  | 'decision'

/** Makes and checks proofs that a form was given to the browser that sends it, or that a browser decided. */
export interface AntiForgery {
  /** A new value for the browser's cookie: 256 random bits, base64url. */
  newCookie(): string
  /** Whether a text has the form of such a value. */
  isCookie(text: string | undefined): text is string
  /** A proof that is valid only for this purpose, cookie and interaction. */
  proofFor(purpose: ProofPurpose, cookie: string, address: InteractionAddress): string
  /** Whether a proof is valid, compared in constant time. */
  isProof(proof: string, purpose: ProofPurpose, cookie: string, address: InteractionAddress): boolean
}

/**
 * A signed double-submit cookie: knowing or planting a cookie is not enough to make a proof, which needs the key.
 *
 * @param key secret of the page; a new one invalidates open forms
 */
export function createAntiForgery(key: Uint8Array): AntiForgery {
  const proofFor = (
    purpose: ProofPurpose,
    cookie: string,
    { interactId, nonce }: InteractionAddress
  ): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([purpose, cookie, interactId, nonce]))
      .digest('base64url')
  return {
    newCookie: () => randomBytes(32).toString('base64url'),
    isCookie: (text): text is string => text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text),
    proofFor,
    isProof(proof, purpose, cookie, address) {
      const expected = Buffer.from(proofFor(purpose, cookie, address))
      const given = Buffer.from(proof)
      return given.length === expected.length && timingSafeEqual(given, expected)
    }
  }
}
