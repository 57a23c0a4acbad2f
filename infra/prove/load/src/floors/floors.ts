import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { FloorAddresses, FloorOptions } from './program.js'
import { FloorDatabase, type FloorKind } from './statements.js'

const DATABASE = 'floors'

/** The bare programs that calls are compared with, running. */
export class Floors {
  readonly #addresses: FloorAddresses
  readonly #programs: readonly ChildProcess[]

  private constructor(addresses: FloorAddresses, programs: readonly ChildProcess[]) {
    this.#addresses = addresses
    this.#programs = programs
  }

  /** Starts them on a database of their own. @param adminUrl PostgreSQL, as a superuser */
  static async start(adminUrl: string): Promise<Floors> {
    const databaseUrl = await createDatabase(adminUrl)
    const one = await startProgram({ role: 'auth', databaseUrl })
    const grpcTarget = one.addresses.grpc ?? ''
    const other = await startProgram({ role: 'resource', databaseUrl, grpcTarget })
    return new Floors({ ...one.addresses, ...other.addresses }, [one.program, other.program])
  }

  /** Where a floor answers. */
  addressOf(kind: FloorKind): string {
    const address = this.#addresses[kind === 'introspection' ? 'grpc' : kind]
    if (address === undefined) throw new Error(`there is no floor ${kind}`)
    return address
  }

  /** Their processes. */
  get processIds(): number[] {
    return this.#programs.map(({ pid }) => pid ?? 0)
  }

  /** Ends them. */
  stop(): void {
    for (const program of this.#programs) program.disconnect()
  }
}

async function createDatabase(adminUrl: string): Promise<string> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  await admin.query(`create database ${DATABASE}`)
  await admin.end()
  const url = new URL(adminUrl)
  url.pathname = `/${DATABASE}`
  const pool = new pg.Pool({ connectionString: url.href, max: 1 })
  await FloorDatabase.create(pool)
  await pool.end()
  return url.href
}

async function startProgram(
  options: FloorOptions
): Promise<{ program: ChildProcess; addresses: FloorAddresses }> {
  const file = fileURLToPath(new URL('program.js', import.meta.url))
  const program = fork(file, [JSON.stringify(options)], {
    execArgv: [],
    env: { ...process.env, NODE_ENV: 'production' }
  })
  const ended = once(program, 'exit').then(() => {
    throw new Error(`the floors of the ${options.role} server did not start`)
  })
  const [addresses] = (await Promise.race([once(program, 'message'), ended])) as [FloorAddresses]
  ended.catch(() => undefined) // it is stopped on purpose
  return { program, addresses }
}
