import { allSettled, eventually } from '@open-payments-server/acceptance'
import type { Fleet } from './fleet.js'
import { Load } from './load.js'

const SETTLED_WITHIN_MS = 120_000

/**
 * Does something during requests of every kind, and audits when all of them have ended.
 *
 * @param runsOlder whether replicas of an older version run: calls that they do not know are left out then
 * @returns what went wrong with the requests and with the money, and how many answers were looked at
 * @throws Error with everything that was said when the work fails
 */
export async function underLoad(
  running: Fleet,
  runsOlder: boolean,
  work: (load: Load) => Promise<void>
): Promise<{ wrong: string[]; answers: number }> {
  const load = await Load.prepare(running.system, runsOlder)
  const sending = load.run()
  try {
    await work(load)
  } catch (error) {
    throw new Error(
      [`failed while it ran: ${String(error)}`, ...load.failures, ...running.failures, running.output].join(
        '\n'
      ),
      { cause: error }
    )
  } finally {
    load.stop()
    await sending
  }
  await load.cleanUp()
  await allSettled(running.system, SETTLED_WITHIN_MS)
  const nothingOpen = async (): Promise<boolean> => {
    const open = await running.system.authDatabase.query(
      `select 1 from reservation where state = 'open' limit 1`
    )
    return open.length === 0
  }
  await eventually('no reservation is open', nothingOpen, SETTLED_WITHIN_MS)
  const violations = await running.system.audit()
  const miscounts = await running.findMiscounts()
  const wrong = [...load.failures, ...running.failures, ...violations, ...miscounts]
  console.log(
    `${String(load.answerCount)} answers looked at, ${String(running.requestCount)} requests over HTTP, ` +
      `${String(load.refusalCount)} refused for a moment, ${String(wrong.length)} wrong`
  )
  if (wrong.length > 0) wrong.push(running.output)
  return { wrong, answers: load.answerCount }
}
