import { amount, consentedToken, createReceiver, outgoingAccess } from '@open-payments-server/acceptance'
import type { Crash } from './crash-points.js'
import type { CrashSystem } from './crash-system.js'
import { converged, PaymentLoad } from './payment-load.js'

/** Within this time after a crash everything is as if it had not been. */
const CONVERGED_WITHIN_MS = 60_000
/** What the grant allows each day: enough for all that is sent, but not for the one payment that is refused. */
const DAILY_LIMIT = 10_000_000_000_000n

/** Payments are sent again at most so often: with the time of the crash, as often as there are ids that they may get. */
const REPEATS_MAX = 3

let crashCount = 0

/**
 * Sends payments of every kind, crashes a service at the boundary, and looks whether everybody was told the truth and all
 * the money is where it belongs.
 *
 * @throws Error with everything that is not as it must be
 */
export async function runCrash(system: CrashSystem, crash: Crash): Promise<void> {
  crashCount += 1
  const load = new PaymentLoad(system, system.shop, `crash ${String(crashCount)}`)
  const token = await orderEveryKind(system, load)
  const before = { alice: await system.balance('alice'), bob: await system.balance('bob') }

  await Promise.all([system.crash(crash.steps), ...load.payments.map((payment) => load.send(payment))])
  await converged(system, CONVERGED_WITHIN_MS)
  const wrong = await load.untruths()
  // Whoever sends the very same request again must be told what is.
  await load.sendUndecided(REPEATS_MAX, CONVERGED_WITHIN_MS)
  wrong.push(
    ...load.doubts,
    ...(await load.untruths()),
    ...(await load.differences(before, [token])),
    ...(await system.audit())
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
    // Of these two one ends in part, or is not created.
    [small.url, 100n],
    [small.url, 100n],
    // More than there is: fails once it is created.
    [open.url, DAILY_LIMIT / 2n],
    // More than the grant allows: refused.
    [open.url, DAILY_LIMIT + 1n]
  ]
  for (const [receiver, debit] of kinds) load.order({ token, receiver, debit })
  return token
}
