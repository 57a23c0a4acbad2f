import { isUuid, type PageEnd } from '@open-payments-server/value-types/identifiers'
import { invalidCallField } from '../../domain/call-refused.js'
import { FAILURE_REASONS } from '../../domain/failure-reasons.js'
import {
  type HeldPayment,
  type HeldPaymentRange,
  listHeldPayments
} from '../../modules/outgoing-payments/index.js'
import { findHeld, type HoldingDependencies, type Person, readPerson } from '../holding.js'
import { findAccountsOf } from './accounts.js'
import { describeKnown, type DescribedReceiver } from './receivers.js'

/** A payment as the holder of its wallet address sees it. */
export interface PaymentOfHolder extends HeldPayment {
  /** What its failure means, in words; undefined unless it failed. */
  readonly failureMeaning: string | undefined
  readonly describedReceiver: DescribedReceiver
}

/** Which payments are asked for. */
export interface HolderPaymentRequest extends Person {
  /** URL: only those from it; empty for those from all wallet addresses of the person. */
  readonly walletAddress: string
  /** Only those created from this instant on; undefined for no bound. */
  readonly fromTime: Date | undefined
  /** Only those created before this instant; undefined for no bound. */
  readonly untilTime: Date | undefined
  /** Only older ones than at this position; undefined starts with the newest. */
  readonly after: PageEnd | undefined
  readonly limit: number
}

/**
 * Lists the payments from wallet addresses that a person holds, newest first: four statements, two of them at once.
 *
 * @throws CallRefused `invalid`; `not-found` for the wallet address, `not-possible` for a person who does not hold it
 */
export async function listHolderPayments(
  { walletAddress, fromTime, untilTime, after, limit, ...person }: HolderPaymentRequest,
  dependencies: HoldingDependencies
): Promise<readonly PaymentOfHolder[]> {
  const [fromMs, untilMs] = [readInstant(fromTime, 'from_time'), readInstant(untilTime, 'until_time')]
  if (fromMs !== undefined && untilMs !== undefined && untilMs < fromMs)
    throw invalidCallField('until_time', 'must not be before from_time')
  const from = await findSource(walletAddress, person, dependencies)
  return list({ from, grantId: undefined, fromMs, untilMs, after, limit }, dependencies)
}

/**
 * Lists those of a person's payments that were made under a grant, newest first; none for a grant of somebody else.
 *
 * @throws CallRefused `invalid`
 */
export async function listGrantPayments(
  {
    grantId,
    after,
    limit,
    ...person
  }: Person & Pick<HolderPaymentRequest, 'after' | 'limit'> & { readonly grantId: string },
  dependencies: HoldingDependencies
): Promise<readonly PaymentOfHolder[]> {
  if (!isUuid(grantId)) throw invalidCallField('grant_id', 'must be a lower-case UUID')
  const from = await findSource('', person, dependencies)
  return list({ from, grantId, fromMs: undefined, untilMs: undefined, after, limit }, dependencies)
}

/** Where the payments of a person come from: their wallet address with a URL, or all if it is empty. */
async function findSource(
  walletAddress: string,
  person: Person,
  dependencies: HoldingDependencies
): Promise<HeldPaymentRange['from']> {
  if (walletAddress !== '') {
    const { path } = await findHeld(walletAddress, readPerson(person), dependencies)
    return { path }
  }
  return { accountIds: (await findAccountsOf(person, dependencies)).map(({ id }) => id) }
}

async function list(
  range: HeldPaymentRange,
  { database, urls }: HoldingDependencies
): Promise<readonly PaymentOfHolder[]> {
  if ('accountIds' in range.from && range.from.accountIds.length === 0) return []
  const payments = await listHeldPayments(database, range, urls)
  const receivers = await describeKnown(
    payments.map(({ receiver }) => receiver),
    { database, urls }
  )
  return payments.flatMap((payment, index) => {
    const describedReceiver = receivers[index]
    if (describedReceiver === undefined) return [] // there is one for each
    const { failureReason: reason } = payment
    return [{ ...payment, failureMeaning: reason && FAILURE_REASONS[reason].meaning, describedReceiver }]
  })
}

/** @throws CallRefused `invalid` for what no date is */
function readInstant(time: Date | undefined, field: string): number | undefined {
  const instantMs = time?.getTime()
  if (Number.isNaN(instantMs)) throw invalidCallField(field, 'must be an instant that a date can have')
  return instantMs
}
