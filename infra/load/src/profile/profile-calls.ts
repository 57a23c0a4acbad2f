import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServiceName } from '../service-process.js'
import type { Stack } from '../stack.js'
import { Inspector } from './inspector.js'
import { type ProfileShare, type ProfileSummary, summariseProfile } from './summarise.js'

const SHOWN = 25

/**
 * Profiles the services while something runs, keeps the profiles (`*.cpuprofile`, for the developer tools of a browser) and
 * shows where the time went. Of several replicas the first one is looked at.
 *
 * @param folder where profiles are kept
 * @param name of what runs
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
  for (const inspector of services.values()) await inspector.startProfile()
  await work()
  for (const [service, inspector] of services) {
    const profile = await inspector.stopProfile()
    inspector.close()
    await writeFile(join(folder, `${name}-${service}.cpuprofile`), JSON.stringify(profile))
    console.log(describeProfile(`${name}, ${service}`, summariseProfile(profile)))
  }
}

function describeProfile(title: string, { idle, packages, functions, inclusive }: ProfileSummary): string {
  return [
    `\n  ${title}: ${percent(idle)} of the time idle. Of the rest:`,
    '  by package, with what it calls of Node and V8',
    ...packages.slice(0, SHOWN).map(describeShare),
    '  by function, in the functions themselves',
    ...functions.slice(0, SHOWN).map(describeShare),
    '  by function of this repository, with all that it calls',
    ...inclusive.slice(0, SHOWN).map(describeShare)
  ].join('\n')
}

function describeShare({ name, share }: ProfileShare): string {
  return `    ${percent(share).padStart(7)}  ${name}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
