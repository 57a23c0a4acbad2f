import { readFile, rm, writeFile } from 'node:fs/promises'
import type { StackPaths } from './settings.js'

/** Finds the process of a stack that runs on the same data; undefined when there is none. */
export async function findRunningStack({ processFile }: StackPaths): Promise<number | undefined> {
  const processId = Number(await readFile(processFile, 'utf8').catch(() => ''))
  if (!Number.isSafeInteger(processId) || processId <= 0 || processId === process.pid) return undefined
  try {
    process.kill(processId, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined
  }
  return (await isStack(processId)) ? processId : undefined
}

/** A killed stack leaves its process id behind, which the system may have reused. */
async function isStack(processId: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  const command = await readFile(`/proc/${String(processId)}/cmdline`, 'utf8').catch(() => '')
  return command.includes('start.mjs')
}

/** Records that this process runs the stack. */
export async function claimStack({ processFile }: StackPaths): Promise<void> {
  await writeFile(processFile, `${String(process.pid)}\n`)
}

/** Removes the record. */
export async function releaseStack({ processFile }: StackPaths): Promise<void> {
  await rm(processFile, { force: true })
}
