import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A user of the operating system, by number. */
export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/**
 * The user that PostgreSQL must run as. It refuses to run as root, so for root this is the system user `postgres`, created
 * if missing; for anyone else it is the current user (undefined).
 *
 * @throws Error when we are root and there is no such user and none can be created
 */
export async function postgresUser(log?: (line: string) => void): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const known = await findUser('postgres')
  if (known !== undefined) return known
  log?.('creating the system user postgres, because PostgreSQL refuses to run as root')
  try {
    await run('useradd', [
      '--system',
      '--user-group',
      '--no-create-home',
      '--shell',
      '/bin/false',
      'postgres'
    ])
  } catch (error) {
    throw new Error(
      'PostgreSQL refuses to run as root, and the system user postgres could not be created; ' +
        'run this as an ordinary user, create that user, or give the URL of a PostgreSQL of your own',
      { cause: error }
    )
  }
  const created = await findUser('postgres')
  if (created === undefined) throw new Error('the system user postgres was created but cannot be found')
  return created
}

async function findUser(name: string): Promise<SystemUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

/**
 * Runs a shell test as the user who will run PostgreSQL, with `$1`, `$2`… bound to the values: the only reliable way to
 * know what that user can reach. Resolves with the error, or undefined.
 */
export async function failureAs(
  user: SystemUser | undefined,
  test: string,
  values: readonly string[]
): Promise<string | undefined> {
  try {
    await run('/bin/sh', ['-c', test, 'sh', ...values], { cwd: '/', env: serverEnvironment(), ...user })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The environment of a server: not ours, so that no `PG…`, locale or `NODE_OPTIONS` of the caller affects it. */
export function serverEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}
