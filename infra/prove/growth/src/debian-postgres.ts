import { execFile } from 'node:child_process'
import { access, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort, postgresUser } from '@open-payments-server/local-services'

const run = promisify(execFile)

/** Where Debian keeps the programs of the oldest PostgreSQL that is supported. */
const PROGRAMS = '/usr/lib/postgresql/15/bin'
const PASSWORD = 'only-of-this-trial'
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** A PostgreSQL 15 of its own, with its programs to dump and restore. */
export interface DebianPostgres {
  /** As its superuser. */
  readonly url: string
  /** Dumps a database to a file, in one snapshot. */
  dump(databaseUrl: string, path: string): Promise<void>
  /** Restores a dump to a new database. Returns its URL. */
  restore(path: string, name: string): Promise<string>
  stop(): Promise<void>
}

/** Starts one; undefined where its programs are not installed. */
export async function startDebianPostgres(): Promise<DebianPostgres | undefined> {
  if (!(await isThere(PROGRAMS))) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'restore-trial-'))
  const user = await postgresUser()
  const passwordPath = join(directory, 'password')
  await writeFile(passwordPath, PASSWORD)
  if (user !== undefined) {
    for (const path of [directory, passwordPath]) await chown(path, user.uid, user.gid)
  }
  const data = join(directory, 'data')
  const port = String(await findFreePort())
  const execute = (program: string, ...parameters: string[]): Promise<unknown> =>
    run(join(PROGRAMS, program), parameters, { ...user, cwd: '/', maxBuffer: OUTPUT_BYTES_MAX })
  await execute(
    'initdb',
    '-D',
    data,
    '-U',
    'postgres',
    '--pwfile',
    passwordPath,
    '--auth=scram-sha-256',
    '-E',
    'UTF8'
  )
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200`
  await execute('pg_ctl', '-D', data, '-w', '-l', join(directory, 'log'), '-o', options, 'start')
  const urlOf = (database: string): string =>
    `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`
  return {
    url: urlOf('postgres'),
    async dump(databaseUrl, path) {
      await run(join(PROGRAMS, 'pg_dump'), ['--format=custom', `--file=${path}`, databaseUrl])
    },
    async restore(path, name) {
      await run(join(PROGRAMS, 'createdb'), [`--maintenance-db=${urlOf('postgres')}`, name])
      await run(join(PROGRAMS, 'pg_restore'), ['--exit-on-error', `--dbname=${urlOf(name)}`, path])
      return urlOf(name)
    },
    async stop() {
      await execute('pg_ctl', '-D', data, '-m', 'fast', 'stop')
      await rm(directory, { recursive: true, force: true })
    }
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false
  )
}
