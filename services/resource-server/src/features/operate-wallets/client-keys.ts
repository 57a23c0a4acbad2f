import { parseEd25519Jwk, SignatureError } from '@open-payments-server/http-signatures'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { addKey, countKeys, hasKey, revokeKey } from '../../modules/wallet-addresses/index.js'
import type { OperatorDependencies } from './dependencies.js'
import { findWalletAddress } from './wallet-addresses.js'

/** Allowed ids of a key: it is sent in a header, and compared byte by byte. */
const KEY_ID = /^[\x21-\x7e]{1,128}$/

/** Maximum number of keys of one wallet address, not counting revoked ones. */
const KEYS_MAX = 64

/** Identifies a key. */
export interface NamedKey {
  /** URL of the wallet address. */
  readonly walletAddress: string
  readonly kid: string
}

/**
 * Adds a signing key for a wallet address.
 *
 * @param request.x base64url-encoded Ed25519 public key
 * @throws CallRefused `invalid`, `not-found` for the wallet address, `already-exists` for a key id that is taken, even
 *   by a revoked key, or `not-possible` when the wallet address has too many
 */
export async function addClientKey(
  request: NamedKey & { x: string },
  dependencies: OperatorDependencies
): Promise<void> {
  assertKey(request)
  const { id: walletAddressId, path } = await findWalletAddress(request.walletAddress, dependencies)
  if ((await countKeys(dependencies.database, walletAddressId)) >= KEYS_MAX) {
    throw new CallRefused('not-possible', `a wallet address has at most ${KEYS_MAX} keys`, {
      field: 'wallet_address'
    })
  }
  const key = { walletAddressId, kid: request.kid, x: request.x, createdAtMs: dependencies.clock.now() }
  if (!(await addKey(dependencies.database, key))) {
    throw new CallRefused('already-exists', `there is, or was, a key ${request.kid} already`, {
      field: 'kid'
    })
  }
  dependencies.publishedKeys.forget(path)
}

/**
 * Removes a key from a wallet address's JWKS. Idempotent.
 *
 * @throws CallRefused `not-found` for a wallet address or key that never existed
 */
export async function revokeClientKey(
  request: NamedKey,
  dependencies: OperatorDependencies & Acting
): Promise<void> {
  const { id: walletAddressId, path } = await findWalletAddress(request.walletAddress, dependencies)
  const key = { walletAddressId, kid: request.kid }
  if (!KEY_ID.test(request.kid) || !(await hasKey(dependencies.database, key))) {
    throw new CallRefused('not-found', 'there is no such key', { field: 'kid' })
  }
  if (!(await revokeKey(dependencies.database, key, dependencies.clock.now()))) dependencies.onUnchanged()
  dependencies.publishedKeys.forget(path)
}

function assertKey({ kid, x }: { kid: string; x: string }): void {
  if (!KEY_ID.test(kid)) {
    throw invalidCallField('kid', 'must be 1 to 128 visible ASCII characters')
  }
  try {
    parseEd25519Jwk({ kid, kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x })
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error
    throw invalidCallField('x', error.message.replace(/^x /, ''))
  }
}
