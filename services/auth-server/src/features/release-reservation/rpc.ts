import { RpcError, status, type UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { readUuid } from '../../domain/request-fields.js'
import type { ReleaseReservation } from './service.js'

/** `GrantLimitsService.Release`. */
export function createReleaseRpc(
  releaseReservation: ReleaseReservation
): UnaryHandler<auth.ReleaseRequest, auth.ReleaseResponse> {
  return async (request) => {
    const outcome = await releaseReservation(readUuid(request.paymentId, 'payment_id'))
    if (outcome === 'released') return {}
    throw new RpcError({
      code: status.FAILED_PRECONDITION,
      message: 'The reservation was settled',
      field: 'payment_id'
    })
  }
}
