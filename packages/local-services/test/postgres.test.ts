import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { startPostgres, type LocalPostgres } from '../src/index.js'

const isRoot = process.getuid?.() === 0
const itAsRoot = isRoot ? it : it.skip
const itWithProc = process.platform === 'linux' ? it : it.skip

let parent: string
let directory: string
let running: LocalPostgres[]

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'local-postgres-'))
  await chmod(parent, 0o711)
  directory = join(parent, 'postgres')
  running = []
})

afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()))
  await rm(parent, { recursive: true, force: true })
})

describe('a PostgreSQL on this machine', () => {
  it('serves its superuser on 127.0.0.1 only, with the given settings, and leaves nothing behind', async () => {
    const server = await start({ settings: { max_connections: '42' } })
    expect(server.url).toMatch(/^postgresql:\/\/postgres:[^@]{20,}@127\.0\.0\.1:\d+\/postgres$/)
    const [settings] = await query(
      server.url,
      `select current_setting('max_connections') as connections, current_setting('listen_addresses') as addresses,
              (select rolsuper from pg_roles where rolname = current_user) as superuser`
    )
    expect(settings).toEqual({ connections: '42', addresses: '127.0.0.1', superuser: true })
    const processId = await serverProcess()
    await server.stop()
    await server.stop()
    await expect(server.ended).resolves.toBe(0)
    expect(isAlive(processId)).toBe(false)
    expect(existsSync(directory)).toBe(false)
  })

  it('refuses a wrong password', async () => {
    const { url } = await start()
    await expect(query(Object.assign(new URL(url), { password: 'wrong' }).href, 'select 1')).rejects.toThrow(
      'password'
    )
  })

  it('keeps its data from one run to the next when it is persistent', async () => {
    const first = await start({ persistent: true })
    await query(first.url, `create table kept as select 'still here' as what`)
    await first.stop()
    const second = await start({ persistent: true })
    await expect(query(second.url, 'select what from kept')).resolves.toEqual([{ what: 'still here' }])
  })

  it('can be crashed: committed data is there after the next start, on the same port', async () => {
    const first = await start({ persistent: true })
    await query(first.url, `create table kept as select 'still here' as what`)
    const session = new pg.Client({ connectionString: first.url })
    session.on('error', () => undefined) // it is cut off
    await session.connect()
    await session.query(`begin; insert into kept values ('never committed')`)
    await first.crash()
    const second = await start({ persistent: true, port: Number(new URL(first.url).port) })
    expect(second.url).toBe(first.url)
    await expect(query(second.url, 'select what from kept')).resolves.toEqual([{ what: 'still here' }])
  })

  it('starts empty if it is not persistent', async () => {
    const first = await start({ persistent: true })
    await query(first.url, 'create table gone (id int)')
    await first.stop()
    const second = await start()
    await expect(query(second.url, `select to_regclass('gone') as gone`)).resolves.toEqual([{ gone: null }])
  })

  it('recreates a cluster whose creation was interrupted', async () => {
    const half = join(directory, 'initialising-999999999', 'data')
    await mkdir(half, { recursive: true })
    await writeFile(join(half, 'PG_VERSION'), '18\n')
    const server = await start({ persistent: true })
    await expect(query(server.url, 'select 1 as one')).resolves.toEqual([{ one: 1 }])
    expect((await readdir(directory)).sort()).toEqual(['cluster'])
  })

  it('reports the output of initdb or the server when it cannot start', async () => {
    await expect(start({ settings: { no_such_setting: '1' } })).rejects.toThrow('no_such_setting')
    expect(existsSync(directory)).toBe(false)
  })

  it('reports a port in use', async () => {
    const occupant = createServer().listen(0, '127.0.0.1')
    await once(occupant, 'listening')
    const { port } = occupant.address() as AddressInfo
    await expect(start({ port })).rejects.toThrow(`port ${port} of 127.0.0.1 is taken by another process`)
    occupant.close()
  })

  it('refuses a directory that another run uses, and does not disturb that run', async () => {
    const first = await start({ persistent: true })
    await expect(start({ persistent: true })).rejects.toThrow('is in use on')
    await expect(query(first.url, 'select 1 as one')).resolves.toEqual([{ one: 1 }])
  })
})

describe('a PostgreSQL whose run ends badly', () => {
  it.each(['SIGTERM', 'SIGKILL', 'SIGHUP'] as const)(
    'ends by itself after %s, and its data can be used again',
    async (signal) => {
      const run = await startRun('persistent')
      await query(run.url, `create table kept as select 'still here' as what`)
      const processId = await serverProcess()
      run.process.kill(signal)
      await gone(processId)
      const next = await start({ persistent: true })
      await expect(query(next.url, 'select what from kept')).resolves.toEqual([{ what: 'still here' }])
    }
  )

  it('can be restarted right after a kill, while the old server is still stopping', async () => {
    const run = await startRun('persistent')
    run.process.kill('SIGKILL')
    const next = await start({ persistent: true })
    await expect(query(next.url, 'select 1 as one')).resolves.toEqual([{ one: 1 }])
  })

  it('removes its data even then if it is not persistent', async () => {
    const run = await startRun('temporary')
    const processId = await serverProcess()
    run.process.kill('SIGKILL')
    await gone(processId)
    while (existsSync(directory)) await delay(20)
  })

  itWithProc('is ended by the next run when its guard was killed as well', async () => {
    const run = await startRun('persistent')
    const processId = await serverProcess()
    const status = await readFile(`/proc/${processId}/stat`, 'utf8')
    const guard = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1])
    process.kill(guard, 'SIGKILL')
    run.process.kill('SIGKILL')
    const next = await start({ persistent: true })
    expect(isAlive(processId)).toBe(false)
    await expect(query(next.url, 'select 1 as one')).resolves.toEqual([{ one: 1 }])
  })

  it('does not mistake a process with a reused pid for its own', async () => {
    const first = await start({ persistent: true })
    await first.stop()
    const lock = join(directory, 'cluster', 'data', 'postmaster.pid')
    await writeFile(lock, `${process.pid}\n${join(directory, 'cluster', 'data')}\n`)
    const next = await start({ persistent: true })
    await expect(query(next.url, 'select 1 as one')).resolves.toEqual([{ one: 1 }])
  })
})

describe('a PostgreSQL and its users', () => {
  itAsRoot(
    'works in a folder that only root may enter, by keeping its data elsewhere and saying so',
    async () => {
      await chmod(parent, 0o700)
      const lines: string[] = []
      const first = await start({ persistent: true, log: (line) => lines.push(line) })
      await query(first.url, 'create table kept (id int)')
      await first.stop()
      expect(lines.join('\n')).toContain(
        `the system user postgres cannot reach ${directory}; its data is in /var/lib/`
      )
      const second = await start({ persistent: true })
      await expect(query(second.url, `select to_regclass('kept')::text as kept`)).resolves.toEqual([
        { kept: 'kept' }
      ])
      await second.stop()
      const home = (await readFile(join(directory, 'moved-to'), 'utf8')).trim()
      await rm(directory, { recursive: true })
      const third = await start()
      await expect(query(third.url, `select to_regclass('kept') as kept`)).resolves.toEqual([{ kept: null }])
      await third.stop()
      expect([existsSync(home), existsSync(directory)]).toEqual([false, false])
    }
  )

  itAsRoot('runs as an ordinary user, too', async () => {
    await chmod(parent, 0o777)
    const nobody = 65_534
    const run = await startRun('temporary', { uid: nobody, gid: nobody })
    await expect(query(run.url, 'select 1 as one')).resolves.toEqual([{ one: 1 }])
    const processId = await serverProcess()
    run.process.kill('SIGTERM')
    await gone(processId)
  })
})

async function start(options: Partial<Parameters<typeof startPostgres>[0]> = {}): Promise<LocalPostgres> {
  const server = await startPostgres({ directory, persistent: false, ...options })
  running.push(server)
  return server
}

/** A PostgreSQL started by a process of its own, which can be ended in any way. */
async function startRun(
  persistence: 'persistent' | 'temporary',
  user: { uid?: number; gid?: number } = {}
): Promise<{ process: ChildProcess; url: string }> {
  const script = fileURLToPath(new URL('hold-postgres.mjs', import.meta.url))
  const child = spawn(process.execPath, [script, directory, persistence], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
    cwd: '/',
    ...user
  })
  for await (const line of createInterface({ input: child.stdout })) return { process: child, url: line }
  throw new Error('the run ended before it said where its PostgreSQL is')
}

async function serverProcess(): Promise<number> {
  const lock = await readFile(join(directory, 'cluster', 'data', 'postmaster.pid'), 'utf8')
  return Number(lock.split('\n')[0])
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch {
    return false
  }
}

async function gone(processId: number): Promise<void> {
  while (isAlive(processId)) await delay(20)
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // some of these servers are ended on purpose
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}
