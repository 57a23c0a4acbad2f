import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

/** How long a server whose parent has just ended gets for its own shutdown. */
const ownEndMs = 5_000
const fastShutdownMs = 15_000
const pollMs = 50

/**
 * Prepares this data directory for a new server: removes a lock file whose process number now belongs to another process,
 * and stops a server that an earlier run left behind because both it and its guard were killed.
 *
 * @throws Error when a server that is still in use runs on the directory
 */
export async function settlePreviousServer(
  dataDirectory: string,
  log?: (line: string) => void
): Promise<void> {
  const lockFile = join(dataDirectory, 'postmaster.pid')
  const processId = await readProcessId(lockFile)
  if (processId === undefined || !isAlive(processId)) return // PostgreSQL itself replaces the lock of a dead process
  const server = await describeProcess(processId)
  if (server === undefined || !server.command.includes(dataDirectory)) {
    log?.('removing the lock file of an earlier PostgreSQL, whose process number is in other use now')
    await rm(lockFile, { force: true })
    return
  }
  if (await endsWithin(processId, isGuarded(await describeProcess(server.parentId)) ? ownEndMs : 0)) return
  if (isGuarded(await describeProcess(server.parentId))) {
    throw new Error(
      `another PostgreSQL (process ${String(processId)}) is in use on ${dataDirectory}; stop what started it first`
    )
  }
  log?.(`ending the PostgreSQL (process ${String(processId)}) that an earlier run left behind`)
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(processId, signal)
    if (await endsWithin(processId, fastShutdownMs)) return
  }
  throw new Error(
    `the PostgreSQL left behind by an earlier run (process ${String(processId)}) does not end; kill it`
  )
}

async function readProcessId(lockFile: string): Promise<number | undefined> {
  try {
    const [firstLine] = (await readFile(lockFile, 'utf8')).split('\n')
    const processId = Number(firstLine)
    return Number.isSafeInteger(processId) && processId > 0 ? processId : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function endsWithin(processId: number, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds
  while (isAlive(processId)) {
    if (Date.now() >= deadline) return false
    await delay(pollMs)
  }
  return true
}

interface ProcessDescription {
  readonly command: string
  readonly parentId: number
}

function isGuarded(parent: ProcessDescription | undefined): boolean {
  return parent?.command.includes('guard.mjs') ?? false
}

async function describeProcess(processId: number): Promise<ProcessDescription | undefined> {
  try {
    if (process.platform === 'linux') {
      const [command, status] = await Promise.all([
        readFile(`/proc/${String(processId)}/cmdline`, 'utf8'),
        readFile(`/proc/${String(processId)}/stat`, 'utf8')
      ])
      // After the name in brackets, which may itself contain blanks and brackets: state, parent.
      const [, parent] = status.slice(status.lastIndexOf(')') + 2).split(' ')
      return { command: command.replaceAll('\0', ' '), parentId: Number(parent) }
    }
    const { stdout } = await promisify(execFile)('ps', [
      '-ww',
      '-o',
      'ppid=,command=',
      '-p',
      String(processId)
    ])
    const found = /^\s*(\d+)\s+(.*)$/m.exec(stdout)
    return found ? { parentId: Number(found[1]), command: found[2] ?? '' } : undefined
  } catch {
    return undefined // gone meanwhile
  }
}
