import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import { type OwnershipDependencies, stateOwnership } from '../../features/state-ownership/state-ownership.js'

/** `HolderService.StateOwnership`. */
export function stateOwnershipRpc(
  dependencies: OwnershipDependencies
): UnaryHandler<wallet.StateOwnershipRequest, wallet.StateOwnershipResponse> {
  return async (request) => {
    const { statement, expiresAtMs } = await stateOwnership(request, dependencies)
    return { statement, expireTime: new Date(expiresAtMs) }
  }
}
