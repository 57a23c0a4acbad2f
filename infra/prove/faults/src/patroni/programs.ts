import { access, chown, constants, mkdir } from 'node:fs/promises'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { postgresUser } from '@open-payments-server/local-services'

/** The programs that a cluster needs, where Debian's packages patroni, etcd-server, haproxy and postgresql-15 put them. */
export const PROGRAMS = {
  patroni: '/usr/bin/patroni',
  etcd: '/usr/bin/etcd',
  haproxy: '/usr/sbin/haproxy',
  postgres: '/usr/lib/postgresql/15/bin/postgres'
} as const

/** How much of a program's output is kept for errors. */
const OUTPUT_LENGTH_MAX = 20_000

/** @throws Error naming what to install */
export async function assertInstalled(): Promise<void> {
  for (const path of Object.values(PROGRAMS)) {
    await access(path, constants.X_OK).catch((error: unknown) => {
      const packages = 'patroni etcd-server haproxy postgresql-15'
      throw new Error(`${path} is not there: apt-get install --no-install-recommends ${packages}`, {
        cause: error
      })
    })
  }
}

/** Makes a folder that belongs to PostgreSQL's user. */
export async function makeFolder(path: string): Promise<string> {
  const user = await postgresUser()
  await mkdir(path, { mode: 0o700 })
  if (user !== undefined) await chown(path, user.uid, user.gid)
  return path
}

/** A program that runs with everything it started in a group of its own, which gets signals together. */
export class Program {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #output = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = once(child, 'exit')
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-OUTPUT_LENGTH_MAX)
      })
    }
  }

  static async start(path: string, parameters: readonly string[]): Promise<Program> {
    const user = await postgresUser()
    const child = spawn(path, parameters, {
      cwd: '/',
      detached: true,
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', PGTZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...user
    })
    await once(child, 'spawn')
    const program = new Program(child)
    process.once('exit', () => {
      program.#signal('SIGKILL')
    })
    return program
  }

  get output(): string {
    return this.#output
  }

  /** Stops all of it where it is, until {@link resume}. */
  freeze(): void {
    this.#signal('SIGSTOP')
  }

  /** Lets it go on. */
  resume(): void {
    this.#signal('SIGCONT')
  }

  /** Ends all of it at once, as when the power fails. */
  async kill(): Promise<void> {
    this.#signal('SIGKILL')
    await this.#ended
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    try {
      // All that were started by it, where they made no groups of their own.
      if (pid !== undefined) process.kill(-pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // all have ended
    }
  }
}
