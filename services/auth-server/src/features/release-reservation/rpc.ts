import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { mustHaveEnded, readRelease } from '../../domain/ends.js'
import type { ReleaseReservation } from './service.js'

/** `GrantLimitsService.Release`. */
export function createReleaseRpc(
  releaseReservation: ReleaseReservation
): UnaryHandler<auth.ReleaseRequest, auth.ReleaseResponse> {
  return async (request) => {
    mustHaveEnded(await releaseReservation(readRelease(request).paymentId))
    return {}
  }
}
