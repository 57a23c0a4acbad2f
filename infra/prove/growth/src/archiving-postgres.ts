import { execFile } from 'node:child_process'
import {
  access,
  appendFile,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rm,
  stat,
  writeFile
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '@open-payments-server/acceptance'
import { findFreePort, postgresUser } from '@open-payments-server/local-services'
import pg from 'pg'

const run = promisify(execFile)

/** Where Debian keeps the programs of the oldest PostgreSQL that is supported. */
const PROGRAMS = '/usr/lib/postgresql/15/bin'
const PASSWORD = 'only-of-this-trial'
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024
const RECOVERED_WITHIN_MS = 120_000
/** How long commits stay out of the archive at most, in seconds: `archive_timeout`. */
export const ARCHIVE_TIMEOUT_SECONDS = 5

/** How a server was recovered. */
export interface Recovered {
  /** From the first file that is copied until it takes writes, in milliseconds. */
  readonly tookMs: number
  /** Size of its files, in bytes. */
  readonly bytes: number
  /** Number of segments of the archive. */
  readonly segmentCount: number
}

/** A PostgreSQL 15 that archives its WAL, and can be recovered from a base backup and the archive when it is lost. */
export class ArchivingPostgres {
  readonly #directory: string
  readonly #port: string
  readonly #user: Awaited<ReturnType<typeof postgresUser>>

  private constructor(directory: string, port: string, user: Awaited<ReturnType<typeof postgresUser>>) {
    this.#directory = directory
    this.#port = port
    this.#user = user
  }

  /** Starts one; undefined where its programs are not installed. */
  static async start(): Promise<ArchivingPostgres | undefined> {
    if (!(await isThere(PROGRAMS))) return undefined
    const directory = await mkdtemp(join(await realpath(tmpdir()), 'recovery-trial-'))
    const user = await postgresUser()
    const server = new ArchivingPostgres(directory, String(await findFreePort()), user)
    const passwordPath = server.#path('password')
    await writeFile(passwordPath, PASSWORD)
    await mkdir(server.#path('archive'))
    for (const path of [directory, passwordPath, server.#path('archive')]) await server.#own(path)
    await server.#execute(
      ...['initdb', '-D', server.#path('data'), '-U', 'postgres', '--pwfile', passwordPath],
      ...['--auth=scram-sha-256', '-E', 'UTF8']
    )
    // As the runbook says, but for the place of the archive.
    await appendFile(
      server.#path('data', 'postgresql.conf'),
      [
        '',
        'wal_level = replica',
        'archive_mode = on',
        `archive_command = 'test ! -f ${server.#path('archive')}/%f && cp %p ${server.#path('archive')}/%f'`,
        `archive_timeout = ${String(ARCHIVE_TIMEOUT_SECONDS)}`,
        ''
      ].join('\n')
    )
    await server.#startServer()
    return server
  }

  /** As its superuser. The same after a recovery. */
  get url(): string {
    return `postgresql://postgres:${PASSWORD}@127.0.0.1:${this.#port}/postgres`
  }

  /** Takes a base backup while the server works. Returns how long it took, in milliseconds. */
  async takeBaseBackup(): Promise<number> {
    const beganAtMs = performance.now()
    await this.#execute(
      ...['pg_basebackup', '-D', this.#path('backup'), '--checkpoint=fast', '--wal-method=stream'],
      ...['--dbname', this.url]
    )
    await this.#execute('pg_verifybackup', this.#path('backup'))
    return performance.now() - beganAtMs
  }

  /** The machine is gone with its files; what is archived stays. */
  async lose(): Promise<void> {
    if (await isThere(this.#path('data', 'postmaster.pid')))
      await this.#execute('pg_ctl', '-D', this.#path('data'), '-m', 'immediate', 'stop')
    await rm(this.#path('data'), { recursive: true })
  }

  /**
   * Recovers the server from the base backup and the archive, on the same port. It writes no archive: others recover from this one.
   *
   * @param until moment to recover to; the end of the archive unless given
   */
  async recover(until?: Date): Promise<Recovered> {
    if (await isThere(this.#path('data'))) await this.lose()
    const beganAtMs = performance.now()
    await cp(this.#path('backup'), this.#path('data'), { recursive: true, preserveTimestamps: true })
    await this.#own(this.#path('data'), true)
    const settings = [
      'archive_mode = off',
      `restore_command = 'cp ${this.#path('archive')}/%f %p'`,
      ...(until === undefined ? [] : [`recovery_target_time = '${timestampOf(until)}'`]),
      `recovery_target_action = 'promote'`
    ]
    await appendFile(this.#path('data', 'postgresql.conf'), `\n${settings.join('\n')}\n`)
    await writeFile(this.#path('data', 'recovery.signal'), '')
    await this.#startServer()
    await eventually('the server takes writes', () => this.#takesWrites(), RECOVERED_WITHIN_MS)
    const tookMs = performance.now() - beganAtMs
    const segments = await readdir(this.#path('archive'))
    return { tookMs, bytes: await sizeOf(this.#path('data')), segmentCount: segments.length }
  }

  async stop(): Promise<void> {
    if (await isThere(this.#path('data'))) await this.lose()
    await rm(this.#directory, { recursive: true, force: true })
  }

  #path(...parts: string[]): string {
    return join(this.#directory, ...parts)
  }

  async #startServer(): Promise<void> {
    const options = `-p ${this.#port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=100`
    const data = this.#path('data')
    await this.#execute('pg_ctl', '-D', data, '-w', '-l', this.#path('log'), '-o', options, 'start')
  }

  async #takesWrites(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url })
    try {
      await client.connect()
      const { rows } = await client.query<{ recovering: boolean }>('select pg_is_in_recovery() as recovering')
      return rows[0]?.recovering === false
    } finally {
      await client.end()
    }
  }

  async #own(path: string, withFiles = false): Promise<void> {
    const user = this.#user
    if (user === undefined) return
    const below = withFiles ? await readdir(path, { recursive: true }) : []
    for (const one of ['', ...below]) await chown(join(path, one), user.uid, user.gid)
  }

  async #execute(program: string, ...parameters: string[]): Promise<void> {
    await run(join(PROGRAMS, program), parameters, {
      ...this.#user,
      cwd: '/',
      maxBuffer: OUTPUT_BYTES_MAX
    })
  }
}

/** PostgreSQL takes no `T` and no `Z` here. */
function timestampOf(moment: Date): string {
  return moment.toISOString().replace('T', ' ').replace('Z', '+00')
}

async function sizeOf(path: string): Promise<number> {
  const names = await readdir(path, { recursive: true })
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false
  )
}
