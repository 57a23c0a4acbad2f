import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Inspector, type ServiceName } from '@open-payments-server/acceptance'
import type { Stack, StatementTime } from '../stack.js'

const STATEMENTS_SHOWN = 12
const STATEMENT_LENGTH = 110

/**
 * Profiles the first replica of each service while `work` runs, writes `<name>-<service>.cpuprofile` files for the developer tools
 * of a browser, and prints the SQL statements by time.
 *
 * @param folder of the profiles
 * @param name of the measured call
 */
export async function profiling(
  stack: Stack,
  folder: string,
  name: string,
  work: () => Promise<void>
): Promise<void> {
  const services = new Map<ServiceName, Inspector>()
  for (const { options } of stack.services) {
    if (options.inspectorPort === undefined || services.has(options.service)) continue
    services.set(options.service, await Inspector.connect(options.inspectorPort))
  }
  const before = await stack.statementTimes()
  for (const inspector of services.values()) await inspector.startProfile()
  await work()
  console.log(describeStatements(name, before, await stack.statementTimes()))
  for (const [service, inspector] of services) {
    const profile = await inspector.stopProfile()
    inspector.close()
    await writeFile(join(folder, `${name}-${service}.cpuprofile`), JSON.stringify(profile))
  }
}

/** Statements by their total time, including waits for locks and for the disk at commit. */
function describeStatements(
  name: string,
  before: readonly StatementTime[],
  after: readonly StatementTime[]
): string {
  const earlier = new Map(before.map((statement) => [statement.text, statement]))
  const spent = after
    .map(({ text, calls, milliseconds }) => ({
      text: text.replaceAll(/\s+/g, ' ').slice(0, STATEMENT_LENGTH),
      calls: calls - (earlier.get(text)?.calls ?? 0),
      milliseconds: milliseconds - (earlier.get(text)?.milliseconds ?? 0)
    }))
    .filter(({ calls }) => calls > 0)
    .sort((one, other) => other.milliseconds - one.milliseconds)
  const lines = spent.slice(0, STATEMENTS_SHOWN).map(({ text, calls, milliseconds }) => {
    const each = (milliseconds / calls).toFixed(3)
    return `    ${milliseconds.toFixed(0).padStart(6)} ms  ${String(calls).padStart(6)} × ${each} ms  ${text}`
  })
  return [`\n  ${name}: statements, by the time that PostgreSQL took for them`, ...lines].join('\n')
}
