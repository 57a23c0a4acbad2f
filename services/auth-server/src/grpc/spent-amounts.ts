import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import { CallRefused } from '../domain/call-refused.js'
import { readAccessToken } from './request-fields.js'
import {
  getSpentAmounts,
  type GetSpentAmountsDependencies,
  type SpentAmountsResult
} from '../features/get-spent-amounts/get-spent-amounts.js'

/**
 * `GrantLimitsService.GetSpentAmounts`. NOT_FOUND for a token that was not issued here, FAILED_PRECONDITION for one that
 * is not active.
 */
export function getSpentAmountsRpc(
  dependencies: GetSpentAmountsDependencies
): UnaryHandler<auth.GetSpentAmountsRequest, auth.GetSpentAmountsResponse> {
  return async ({ accessToken }) =>
    toResponse(await getSpentAmounts(readAccessToken(accessToken), dependencies))
}

function toResponse(result: SpentAmountsResult): auth.GetSpentAmountsResponse {
  switch (result.kind) {
    case 'found':
      return {
        spentDebitAmount: result.spent && formatAmount(result.spent.spentDebitAmount),
        spentReceiveAmount: result.spent && formatAmount(result.spent.spentReceiveAmount)
      }
    case 'unknown-token':
      throw new CallRefused('not-found', 'The token is unknown', { field: 'access_token' })
    case 'inactive-token':
      throw new CallRefused('inactive-token', 'The token is not active', { field: 'access_token' })
  }
}
