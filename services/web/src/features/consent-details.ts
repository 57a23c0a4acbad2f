import { formatMajorUnits, parseAmount } from '@open-payments-server/value-types/amounts'
import { limitingAmount } from '../domain/changes.js'
import type { AskedItem } from '../domain/grant.js'
import type { DescribedReceivers } from '../words/describe-item.js'
import { presentableName } from '../words/presentable.js'

/**
 * What somebody consents to, as the issuer can show it (RFC 9396): the access items as they would be granted, the amount in major
 * units, and the payee where there is one.
 *
 * @param endsAtMs when all of it ends, in milliseconds since 1970; undefined without an end
 * @returns one for each access item, without its type
 */
export function consentDetails(
  access: readonly AskedItem[],
  receivers: DescribedReceivers,
  endsAtMs: number | undefined
): readonly Readonly<Record<string, unknown>>[] {
  return access.map((item) => {
    const { actions, identifier, limits } = item
    const limiting = limitingAmount(item)
    const receiver = limits?.receiver === undefined ? undefined : receivers.get(limits.receiver)
    const payee = presentableName(receiver?.name ?? '')
    return {
      actions,
      ...(identifier === undefined ? {} : { identifier }),
      ...(limits === undefined ? {} : { limits }),
      ...(endsAtMs === undefined ? {} : { endsAt: new Date(endsAtMs).toISOString() }),
      ...(limiting === undefined ? {} : { instructedAmount: instructed(limiting.amount) }),
      ...(payee === '' ? {} : { creditorName: payee })
    }
  })
}

/** As in RFC 9396 §2. */
function instructed(amount: Parameters<typeof parseAmount>[0]): { currency: string; amount: string } {
  return { currency: amount.assetCode, amount: formatMajorUnits(parseAmount(amount)) }
}
