import {
  amount,
  consentedToken,
  converged,
  createReceiver,
  outgoingAccess
} from '@open-payments-server/acceptance'
import type { CrossingCrash } from './crossing-points.js'
import { balances, type CrossingLoads, keepDeciding, untruths, wrongs } from './crossing-loads.js'
import type { CrossingSystem } from './crossing-system.js'
import { PaymentLoad } from './payment-load.js'

/** Time after a crash within which everything must have recovered, in milliseconds: packets under way must expire first. */
const CONVERGED_WITHIN_MS = 90_000
/** The grant's daily limit: enough for all payments except the one that is to be refused. */
const DAILY_LIMIT = 10_000_000_000_000n
/** Maximum number of repetitions of a payment: with the first attempt, as many as the ids that it may get. */
const REPEATS_MAX = 3

let crashCount = 0

/**
 * Pays account holders of the other provider in every way, crashes a service at the boundary, and checks that every answer was
 * true, that both providers agree on what was sent, and that all money is where it belongs.
 *
 * @throws Error naming everything that is wrong
 */
export async function runCrossingCrash(system: CrossingSystem, crash: CrossingCrash): Promise<void> {
  crashCount += 1
  const { sender } = system
  if (crash.asksForGrant === true) await system.forgetGrants()
  const loads = await orderEveryKind(system, `crash ${String(crashCount)}`)
  const before = await balances(system)
  const endDecisions = await keepDeciding(system)

  const each = [loads.inDollars, loads.inEuros]
  const sent = each.flatMap((load) => load.payments.map((payment) => load.send(payment)))
  await Promise.all([system.crash(crash.steps), ...sent])
  await converged(sender, CONVERGED_WITHIN_MS)
  const wrong = await untruths(loads)
  // A repetition of the same request must get the truth.
  for (const load of each) await load.sendUndecided(REPEATS_MAX, CONVERGED_WITHIN_MS)
  const decided = await endDecisions()
  wrong.push(...each.flatMap(({ doubts }) => doubts), ...(await wrongs(system, { loads, before, decided })))
  if (wrong.length > 0) {
    const packets = `${String(decided.arrived)} unknown packets had arrived, ${String(decided.lost)} had not`
    throw new Error([`after a crash of the ${crash.name} (${packets}):`, ...wrong].join('\n'))
  }
}

async function orderEveryKind({ sender, receiver }: CrossingSystem, name: string): Promise<CrossingLoads> {
  const open = await createReceiver(receiver, receiver.shop)
  const small = await createReceiver(receiver, receiver.shop, { incoming: 150n })
  const euros = await createReceiver(receiver, receiver.shop, { wallet: 'carol' })
  const interval = `R/${new Date(sender.clock.now() - 1_000).toISOString()}/P1D`
  const { token } = await consentedToken(sender, sender.shop, [
    outgoingAccess(sender, { debitAmount: amount(DAILY_LIMIT), interval })
  ])
  const inDollars = new PaymentLoad(sender, sender.shop, name)
  const kinds: readonly [receiver: string, debit: bigint][] = [
    [open.url, 100n],
    [open.url, 101n],
    // One of these two is delivered in part, or is not created.
    [small.url, 100n],
    [small.url, 100n],
    // More than the balance: fails after it was created.
    [open.url, DAILY_LIMIT / 2n],
    // More than the grant allows: refused.
    [open.url, DAILY_LIMIT + 1n]
  ]
  for (const [url, debit] of kinds) inDollars.order({ token, receiver: url, debit })
  const inEuros = new PaymentLoad(sender, sender.shop, `${name}, in euros`)
  inEuros.order({ token, receiver: euros.url, debit: 99n })
  return { inDollars, inEuros, token }
}
