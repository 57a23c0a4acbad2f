import { type IncomingRequest, type Route, sendResource } from '@open-payments-server/http-server'
import { type Amount, type AmountWire, formatAmount } from '@open-payments-server/value-types/amounts'
import { findReach, type RequestAuthorizer } from '../../domain/authorization.js'
import { inactiveToken, insufficientGrant } from '../../domain/errors.js'
import type { GrantLimits } from '../../domain/ports.js'

/** What the route needs. */
export interface GetGrantSpentAmountsDependencies {
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly grantLimits: GrantLimits
}

/** `GET /outgoing-payment-grant`: what the grant behind the token has spent in the current interval. */
export function getGrantSpentAmountsRoute(dependencies: GetGrantSpentAmountsDependencies): Route {
  return {
    method: 'GET',
    path: '/outgoing-payment-grant',
    handle: async (request, response) => {
      const { access, accessToken } = await dependencies.authorizer.authorize(request)
      const covered = (['create', 'read'] as const).some(
        (action) => findReach(access, 'outgoing-payment', action, undefined) !== undefined
      )
      if (!covered) throw insufficientGrant()
      const spent = await dependencies.grantLimits.getSpentAmounts(accessToken)
      if (spent === undefined) throw inactiveToken()
      sendResource(request, response, {
        spentDebitAmount: render(spent.spentDebitAmount),
        spentReceiveAmount: render(spent.spentReceiveAmount)
      })
    }
  }
}

function render(amount: Amount | null): AmountWire | null {
  return amount === null ? null : formatAmount(amount)
}
