import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { mustHaveEnded, readSettle } from '../../domain/ends.js'
import type { SettleReservation } from './service.js'

/** `GrantLimitsService.Settle`. */
export function createSettleRpc(
  settleReservation: SettleReservation
): UnaryHandler<auth.SettleRequest, auth.SettleResponse> {
  return async (request) => {
    const { paymentId, spent } = readSettle(request)
    mustHaveEnded(await settleReservation(paymentId, spent))
    return {}
  }
}
