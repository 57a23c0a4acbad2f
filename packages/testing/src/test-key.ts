import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Ed25519Jwk } from '@open-payments-server/http-signatures'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'

/** A client's key pair. */
export interface TestKey {
  readonly keyId: string
  readonly privateKey: KeyObject
  /** The public key as clients publish it. */
  readonly jwk: Ed25519Jwk
}

/** Generates a fresh Ed25519 key pair. */
export function createTestKey(keyId = 'test-key'): TestKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  return { keyId, privateKey, jwk: exportEd25519Jwk(privateKey, keyId) }
}
