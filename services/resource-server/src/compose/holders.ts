import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import { readSigningKeys } from '../domain/signing-keys.js'
import { createOwnershipSigner } from '../features/state-ownership/ownership-signer.js'
import type { OwnershipDependencies } from '../features/state-ownership/state-ownership.js'
import type { Context } from './context.js'
import type { DomainPorts } from './domain-ports.js'

/**
 * Opens what states who holds a wallet address.
 *
 * @throws ConfigurationError for keys that are none
 */
export async function openHolders(
  { config, clock, random }: Pick<Context, 'config' | 'clock' | 'random'>,
  { urls }: Pick<DomainPorts, 'urls'>
): Promise<Pick<OwnershipDependencies, 'ownershipSigner' | 'holderClaim'>> {
  const { HOLDER_CLAIM: name, HOLDER_CLAIM_ISSUER: issuer } = config
  const holderClaim = name === undefined || issuer === undefined ? undefined : { name, issuer }
  const text = config.OWNERSHIP_KEYS?.reveal()
  if (text === undefined) return { ownershipSigner: undefined, holderClaim }
  const [key] = await readSigningKeys(text).catch((error: unknown) => {
    throw new ConfigurationError([`OWNERSHIP_KEYS: ${error instanceof Error ? error.message : 'not valid'}`])
  })
  const ownershipSigner = createOwnershipSigner({
    key,
    issuer: urls.base,
    audience: config.AUTH_SERVER_URL,
    lifetimeSeconds: config.OWNERSHIP_LIFETIME_SECONDS,
    clock,
    random
  })
  return { ownershipSigner, holderClaim }
}
