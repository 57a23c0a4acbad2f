import { readFile } from 'node:fs/promises'
import { CommandError } from './command-error.js'

/** What the quick start's file says, as far as commands use it. Whoever uses it checks its types. */
export interface StackSays {
  readonly authGrpc?: unknown
  readonly resourceGrpc?: unknown
  readonly signIn?: unknown
}

/**
 * Reads the file that the quick start writes while it runs.
 *
 * @returns undefined when it does not run
 * @throws CommandError when it cannot be read
 */
export async function readStack(file: string): Promise<StackSays | undefined> {
  try {
    const stack: unknown = JSON.parse(await readFile(file, 'utf8'))
    return typeof stack === 'object' && stack !== null ? stack : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CommandError(
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`
    )
  }
}
