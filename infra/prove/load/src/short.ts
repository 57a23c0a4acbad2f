import { CALLS } from './calls.js'
import { layGroundwork } from './groundwork.js'
import { Measuring } from './measure.js'
import { type Stack, startStack } from './stack.js'

/**
 * Calls of the short form. For each, the CPU time of its floor must be at least this share of its own, in one of several
 * attempts. CPU time is compared because throughput depends more on other work on a build server. The bounds are well below the
 * values of a quiet machine: they detect an additional query, not a difference of a percent.
 */
const BOUNDS: Readonly<Record<string, number>> = {
  'wallet-address': 0.3,
  'incoming-get': 0.4,
  'grant-jwk': 0.35,
  'incoming-create': 0.33,
  payment: 0.33
}
const CONCURRENCY = 8
const SECONDS = 1
/** How often a call may be measured again: noise passes, a regression stays. */
const ROUNDS_MAX = 5

/**
 * Compares a few calls with their floors. A call below its bound is measured again, a few times.
 *
 * @returns whether each reached its bound once, and the audit found no violations
 */
export async function runShort(): Promise<boolean> {
  const stack = await startStack({ rows: 0, replicas: 1, rateLimits: true, inspected: false })
  try {
    const slow = await findSlowCalls(stack)
    const violations = await stack.system.audit()
    for (const violation of violations) console.log(`  audit: ${violation}`)
    for (const [name, share] of slow)
      console.log(
        `  ${name} is too far from its floor: ${percent(share)} at best, at least ${percent(BOUNDS[name] ?? 0)}`
      )
    return slow.size === 0 && violations.length === 0
  } finally {
    await stack.stop()
  }
}

/** @returns the best share of each call that did not reach its bound */
async function findSlowCalls(stack: Stack): Promise<Map<string, number>> {
  const groundwork = await layGroundwork(stack)
  const measured = CALLS.filter(({ name }) => BOUNDS[name] !== undefined).map(
    (call) => [call.name, new Measuring(stack, groundwork, call)] as const
  )
  const slow = new Map(measured.map(([name]) => [name, 0]))
  for (let round = 1; round <= ROUNDS_MAX && slow.size > 0; round += 1) {
    for (const [name, measuring] of measured) {
      const best = slow.get(name)
      if (best === undefined) continue
      const { cpuShareOfFloor, perSecond } = await measuring.measure({
        concurrency: CONCURRENCY,
        seconds: SECONDS
      })
      console.log(
        `  ${name}: ${perSecond.toFixed(0)}/s, ${percent(cpuShareOfFloor)} of its CPU time is its floor's (at least ${percent(BOUNDS[name] ?? 0)})`
      )
      if (cpuShareOfFloor >= (BOUNDS[name] ?? 0)) slow.delete(name)
      else slow.set(name, Math.max(best, cpuShareOfFloor))
    }
  }
  return slow
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}
