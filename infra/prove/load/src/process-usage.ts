import { readdir, readFile } from 'node:fs/promises'

/** The unit of times in `/proc`: 100 ticks per second on Linux. */
const MS_PER_TICK = 10
const KIBIBYTE = 1_024
/** Positions in `/proc/<pid>/stat` after the command, which may contain anything. */
const PARENT = 1
/** User and kernel time, of the process itself and of its children that ended. */
const TICKS = [11, 12, 13, 14]

/** CPU time by group, in milliseconds. */
export type CpuByProcess = Readonly<Record<string, number>>

/** Groups of processes that are counted together, by name. */
export type ProcessGroups = Readonly<Record<string, readonly number[]>>

/**
 * Reads the CPU time that groups of processes have used since they began. Children of a listed process count with it.
 *
 * @throws Error where there is no `/proc`: elsewhere than on Linux
 */
export async function readCpu(groups: ProcessGroups): Promise<CpuByProcess> {
  const processes = await readProcesses()
  return Object.fromEntries(
    Object.entries(groups).map(([name, ids]) => [
      name,
      processes
        .filter(({ id, parent }) => ids.includes(id) || ids.includes(parent))
        .reduce((sum, { cpuMs }) => sum + cpuMs, 0)
    ])
  )
}

/** CPU time of all groups together. */
export function totalOf(cpuMs: CpuByProcess): number {
  return Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0)
}

/** Resident memory of a process, in bytes. */
export async function readMemory(id: number): Promise<number> {
  const status = await readFile(`/proc/${String(id)}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * KIBIBYTE
}

/** The process that started another. */
export async function parentOf(id: number): Promise<number> {
  return Number(fieldsOf(await readFile(`/proc/${String(id)}/stat`, 'utf8'))[PARENT])
}

interface ProcessUsage {
  readonly id: number
  readonly parent: number
  readonly cpuMs: number
}

async function readProcesses(): Promise<ProcessUsage[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const usages = await Promise.all(
    ids.map(async (id) => {
      // A process that has ended meanwhile can no longer be read.
      const text = await readFile(`/proc/${String(id)}/stat`, 'utf8').catch(() => undefined)
      return text === undefined ? undefined : usageOf(id, fieldsOf(text))
    })
  )
  return usages.filter((usage) => usage !== undefined)
}

function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function usageOf(id: number, fields: readonly string[]): ProcessUsage {
  const cpuMs = TICKS.reduce((sum, place) => sum + Number(fields[place]), 0) * MS_PER_TICK
  return { id, parent: Number(fields[PARENT]), cpuMs }
}
