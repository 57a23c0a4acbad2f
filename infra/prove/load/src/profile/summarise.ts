import { fileURLToPath } from 'node:url'
import type { CpuProfile, ProfileNode } from './inspector.js'

/** Where time went, as a share of all time that was not idle. */
export interface ProfileShare {
  readonly name: string
  readonly share: number
}

/** What a CPU profile comes to. */
export interface ProfileSummary {
  /** Share of all time in which the main thread did nothing. */
  readonly idle: number
  /**
   * Time by package or folder of this repository: in its functions themselves, and in what they call of Node and V8.
   */
  readonly packages: readonly ProfileShare[]
  /** Time in functions themselves. */
  readonly functions: readonly ProfileShare[]
  /** Time in functions of this repository and all that they call, awaited work apart. */
  readonly inclusive: readonly ProfileShare[]
}

const IDLE = new Set(['(idle)', '(program)'])
const TOP = 30

/** Sums up where the time of a profile went. `(idle)` and `(program)`, which is mostly waiting, are no work. */
export function summariseProfile(profile: CpuProfile): ProfileSummary {
  const times = selfTimes(profile)
  const total = sum(times.values())
  const working = profile.nodes.filter(({ callFrame }) => !IDLE.has(callFrame.functionName))
  const work = sum(working.map(({ id }) => times.get(id) ?? 0))
  const owners = ownersOf(profile)
  const grouped = (nameOf: (node: ProfileNode) => string): ProfileShare[] => {
    const groups = new Map<string, number>()
    for (const node of working)
      groups.set(nameOf(node), (groups.get(nameOf(node)) ?? 0) + (times.get(node.id) ?? 0))
    return ranked(groups, work)
  }
  return {
    idle: total === 0 ? 0 : (total - work) / total,
    packages: grouped(({ id }) => packageOf(owners.get(id) ?? '')),
    functions: grouped(({ callFrame }) => placeOf(callFrame)),
    inclusive: ranked(inclusiveTimes(profile, times), work)
  }
}

function selfTimes({ samples, timeDeltas }: CpuProfile): Map<number, number> {
  const times = new Map<number, number>()
  samples.forEach((id, index) => times.set(id, (times.get(id) ?? 0) + (timeDeltas[index] ?? 0)))
  return times
}

/** The file of each function, or where it is part of Node or V8, of the nearest caller that is not. */
function ownersOf({ nodes }: CpuProfile): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const owners = new Map<number, string>()
  const visit = (node: ProfileNode, caller: string): void => {
    const { url } = node.callFrame
    const owner = url.startsWith('file:') || url.includes('node_modules') ? url : caller
    owners.set(node.id, owner)
    for (const id of node.children ?? []) {
      const child = byId.get(id)
      if (child !== undefined) visit(child, owner)
    }
  }
  for (const node of rootsOf(nodes)) visit(node, '')
  return owners
}

function rootsOf(nodes: readonly ProfileNode[]): ProfileNode[] {
  const called = new Set(nodes.flatMap(({ children }) => children ?? []))
  return nodes.filter(({ id }) => !called.has(id))
}

/** A function counts once, however often it is in the chain of calls. */
function inclusiveTimes({ nodes }: CpuProfile, times: ReadonlyMap<number, number>): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const found = new Map<string, number>()
  const visit = (node: ProfileNode, above: ReadonlySet<string>): number => {
    const place = placeOf(node.callFrame)
    const chain = above.has(place) ? above : new Set([...above, place])
    const below = (node.children ?? []).map((id) => byId.get(id)).filter((child) => child !== undefined)
    const time = (times.get(node.id) ?? 0) + sum(below.map((child) => visit(child, chain)))
    if (!above.has(place) && isOurs(node.callFrame.url)) found.set(place, (found.get(place) ?? 0) + time)
    return time
  }
  for (const node of rootsOf(nodes)) visit(node, new Set())
  return found
}

function ranked(groups: ReadonlyMap<string, number>, work: number): ProfileShare[] {
  return [...groups]
    .map(([name, time]) => ({ name, share: work === 0 ? 0 : time / work }))
    .sort((one, other) => other.share - one.share)
    .slice(0, TOP)
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}

function isOurs(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/')
}

/** The package that a file belongs to; for this repository, the folder of the package and the first one in its sources. */
function packageOf(url: string): string {
  if (url === '') return 'Node and V8, called by nobody else'
  const path = pathOf(url)
  const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
  if (installed !== undefined) return installed
  return /\/((?:services|packages|infra)\/[^/]+(?:\/dist\/[^/.]+)?|proto)\//.exec(`${path}/`)?.[1] ?? path
}

function placeOf({ functionName, url, lineNumber }: ProfileNode['callFrame']): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  if (url === '') return name
  const path = pathOf(url)
  const short =
    /.*\/node_modules\/(.*)/.exec(path)?.[1] ??
    /\/((?:services|packages|infra|proto)\/.*)/.exec(path)?.[1] ??
    path
  return `${name} ${short}:${String(lineNumber + 1)}`
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}
