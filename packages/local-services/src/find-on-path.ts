import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** Path of a program found on the PATH; undefined when there is none. */
export async function findOnPath(name: string): Promise<string | undefined> {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const candidate = join(directory, name)
    try {
      await access(candidate, constants.X_OK)
      return candidate
    } catch {
      // Not in this one.
    }
  }
  return undefined
}
