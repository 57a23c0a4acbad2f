import {
  amount,
  consentedToken,
  converged,
  createReceiver,
  outgoingAccess
} from '@open-payments-server/acceptance'
import type { PaymentCrash } from './crash-points.js'
import type { CrashSystem } from './crash-system.js'
import { PaymentLoad } from './payment-load.js'
import { AWAITING, decideAboutPayments, findUnrecordedDecisions } from './provider-decisions.js'

/** Time after a crash within which everything must have recovered, in milliseconds. */
const CONVERGED_WITHIN_MS = 60_000
/** The grant's daily limit: enough for all payments except the one that is to be refused. */
const DAILY_LIMIT = 10_000_000_000_000n

/** Maximum number of repetitions of a payment: with the first attempt, as many as the ids that it may get. */
const REPEATS_MAX = 3

let crashCount = 0

/**
 * Sends payments of every kind, crashes a service at the boundary, and checks that every answer was true and all money is
 * where it belongs.
 *
 * @throws Error naming everything that is wrong
 */
export async function runCrash(system: CrashSystem, crash: PaymentCrash): Promise<void> {
  crashCount += 1
  const load = new PaymentLoad(system, system.shop, `crash ${String(crashCount)}`)
  const token = await orderEveryKind(system, load)
  const before = { alice: await system.balance('alice'), bob: await system.balance('bob') }

  const endDecisions = decideAboutPayments(system)
  await Promise.all([system.crash(crash.steps), ...load.payments.map((payment) => load.send(payment))])
  await converged(system, CONVERGED_WITHIN_MS)
  const wrong = await load.untruths()
  // A repetition of the same request must get the truth.
  await load.sendUndecided(REPEATS_MAX, CONVERGED_WITHIN_MS)
  await endDecisions()
  wrong.push(
    ...load.doubts,
    ...(await load.untruths()),
    ...(await load.differences(before, [token])),
    ...(await findUnrecordedDecisions(system)),
    ...(await system.audit()),
    ...(crash.waitsForEvents === true ? await system.witness.differences(CONVERGED_WITHIN_MS) : [])
  )
  if (wrong.length > 0) throw new Error([`after a crash of the ${crash.name}:`, ...wrong].join('\n'))
}

/** @returns the token that all are ordered with */
async function orderEveryKind(system: CrashSystem, load: PaymentLoad): Promise<string> {
  const open = await createReceiver(system, system.shop)
  const small = await createReceiver(system, system.shop, { incoming: 150n })
  const interval = `R/${new Date(system.clock.now() - 1_000).toISOString()}/P1D`
  const { token } = await consentedToken(system, system.shop, [
    outgoingAccess(system, { debitAmount: amount(DAILY_LIMIT), interval })
  ])
  const kinds: readonly [receiver: string, debit: bigint][] = [
    [open.url, 100n],
    [open.url, 101n],
    // One of these two is delivered in part, or is not created.
    [small.url, 100n],
    [small.url, 100n],
    // These await approval.
    ...Object.values(AWAITING).map((debit): [receiver: string, debit: bigint] => [open.url, debit]),
    // More than the balance: fails after it was created.
    [open.url, DAILY_LIMIT / 2n],
    // More than the grant allows: refused.
    [open.url, DAILY_LIMIT + 1n]
  ]
  for (const [receiver, debit] of kinds) load.order({ token, receiver, debit })
  return token
}
