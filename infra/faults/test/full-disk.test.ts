import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type LoadedSystem, startLoadedSystem } from '../src/loaded-system.js'
import { RestartablePostgres } from '../src/restartable-postgres.js'
import { SmallDisk } from '../src/small-disk.js'

/** Room for the server's own files, both databases, and some load. */
const DISK_BYTES = 256_000_000
const TIME_LIMIT_MS = 120_000

const disk = await SmallDisk.mount(DISK_BYTES)
if (disk === undefined) console.log('A full disk is not tried: this user may not mount one in memory.')

// Without a disk there is nothing to run: the reason is printed above.
const itOnDisk = disk === undefined ? it.skip : it

describe('while payments and other requests go on, a database whose disk', () => {
  let postgres: RestartablePostgres
  let loaded: LoadedSystem
  beforeAll(async () => {
    if (disk === undefined) return
    postgres = await RestartablePostgres.start(disk.directory)
    loaded = await startLoadedSystem(postgres.url)
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    if (disk === undefined) return
    await loaded.system.stop()
    await postgres.stop()
    await disk.unmount()
  })

  itOnDisk(
    'is full refuses with 503, and loses nothing; once there is room, everything goes on',
    async () => {
      let hasEnded = false
      void postgres.ended.then(() => {
        hasEnded = true
      })
      const { wrong, counts } = await loaded.during(async (running) => {
        await disk?.keepFull(running.whenRefused(loaded.others.length))
        await disk?.free()
        // A server that has no room for its log gives up; whoever runs it starts it again.
        if (hasEnded) await postgres.restart()
      })
      expect(wrong).toEqual(new Set())
      expect(await loaded.wrongs()).toEqual([])
      expect(counts[503] ?? 0).toBeGreaterThan(0)
    },
    TIME_LIMIT_MS
  )
})

/** Logs as much as is told, then says how much that was and waits to be told more; ends when nothing more comes. */
const CHATTERER = `
import { createInterface } from 'node:readline'
import { createLogger } from '@open-payments-server/runtime'
const logger = createLogger({ service: 'chatterer', level: 'info' })
for await (const count of createInterface({ input: process.stdin })) {
  for (let index = 0; index < Number(count); index += 1) logger.info({ index }, 'x'.repeat(1_000))
  logger.fatal('one that pino would block the process for')
  process.stderr.write('logged ' + count + '\\n')
}
`

describe('a process whose standard output is on a disk that', () => {
  itOnDisk('is full goes on without its log, and tells afterwards what was lost', async () => {
    const small = await SmallDisk.mount(2_000_000)
    if (small === undefined) throw new Error('there is no disk')
    const path = join(small.directory, 'log')
    const log = openSync(path, 'a')
    const child = spawn(process.execPath, ['--input-type=module', '--eval', CHATTERER], {
      stdio: ['pipe', log, 'pipe'],
      cwd: fileURLToPath(new URL('..', import.meta.url))
    })
    const { stdin, stderr } = child
    if (stdin === null || stderr === null) throw new Error('its streams are piped')
    const said = createInterface({ input: stderr })[Symbol.asyncIterator]()
    const chatter = async (count: number): Promise<void> => {
      stdin.write(`${String(count)}\n`)
      expect(await said.next()).toMatchObject({ value: `logged ${String(count)}` })
    }
    await chatter(10)
    await small.keepFull(chatter(2_000))
    await small.free()
    await chatter(1)
    stdin.end()
    expect(await once(child, 'exit')).toEqual([0, null])
    closeSync(log)
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
    await small.unmount()
    const told = lines.map((line) => JSON.parse(line) as { index?: number; count?: number })
    const lost = told.find(({ count }) => count !== undefined)?.count ?? 0
    expect(lost).toBeGreaterThan(0)
    // Three of them fatal, and one that tells what was lost.
    expect(told.length + lost).toBe(10 + 2_000 + 1 + 3 + 1)
  })
})
