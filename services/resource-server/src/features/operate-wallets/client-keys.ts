import { parseEd25519Jwk, SignatureError } from '@open-payments-server/http-signatures'
import { OperationRefused } from '../../domain/operation-refused.js'
import { addKey, countKeys, hasKey, revokeKey } from '../../modules/wallet-addresses/index.js'
import type { OperatorDeps } from './deps.js'
import { findWalletAddress } from './wallet-addresses.js'

/** What operators may name a key: it travels in a header, and is compared byte by byte. */
const KEY_ID = /^[\x21-\x7e]{1,128}$/

/** Most keys of one wallet address, revoked ones not counted. */
const KEYS_MAX = 64

/** A key, named. */
export interface NamedKey {
  /** URL of the wallet address. */
  readonly walletAddress: string
  readonly kid: string
}

/**
 * Adds a key that the holder of a wallet address signs requests with.
 *
 * @param request.x base64url-encoded Ed25519 public key
 * @throws OperationRefused `invalid`, `not-found` for the wallet address, `already-exists` for a key id that is taken, also
 *   by a revoked key, or `not-possible` when the wallet address has too many
 */
export async function addClientKey(request: NamedKey & { x: string }, deps: OperatorDeps): Promise<void> {
  assertKey(request)
  const { id: walletAddressId, path } = await findWalletAddress(request.walletAddress, deps)
  if ((await countKeys(deps.database, walletAddressId)) >= KEYS_MAX) {
    throw new OperationRefused(
      'not-possible',
      'wallet_address',
      `a wallet address has at most ${KEYS_MAX} keys`
    )
  }
  const key = { walletAddressId, kid: request.kid, x: request.x, createdAt: new Date(deps.clock.now()) }
  if (!(await addKey(deps.database, key))) {
    throw new OperationRefused('already-exists', 'kid', `there is, or was, a key ${request.kid} already`)
  }
  deps.publishedKeys.forget(path)
}

/**
 * Removes a key from a wallet address's JWKS. Repeating it has no effect.
 *
 * @throws OperationRefused `not-found` for a wallet address or key that never was
 */
export async function revokeClientKey(request: NamedKey, deps: OperatorDeps): Promise<void> {
  const { id: walletAddressId, path } = await findWalletAddress(request.walletAddress, deps)
  const key = { walletAddressId, kid: request.kid }
  if (!KEY_ID.test(request.kid) || !(await hasKey(deps.database, key))) {
    throw new OperationRefused('not-found', 'kid', 'there is no such key')
  }
  await revokeKey(deps.database, key, new Date(deps.clock.now()))
  deps.publishedKeys.forget(path)
}

function assertKey({ kid, x }: { kid: string; x: string }): void {
  if (!KEY_ID.test(kid)) {
    throw new OperationRefused('invalid', 'kid', 'kid must be 1 to 128 visible ASCII characters')
  }
  try {
    parseEd25519Jwk({ kid, kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x })
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error
    throw new OperationRefused('invalid', 'x', error.message)
  }
}
