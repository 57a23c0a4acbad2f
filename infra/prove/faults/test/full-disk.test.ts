import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type LoadedSystem, startLoadedSystem } from '../src/loaded-system.js'
import { RestartablePostgres } from '../src/restartable-postgres.js'
import { SmallDisk } from '../src/small-disk.js'

/** Room for the server's own files, both databases, and some load. */
const DISK_BYTES = 256_000_000
const TIME_LIMIT_MS = 300_000

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
        await disk?.keepFull(() => running.whenRefused(loaded.others.length))
        await disk?.free()
        // PostgreSQL stops when it has no room for its log; its supervisor restarts it.
        if (hasEnded) await postgres.restart()
      })
      expect(wrong).toEqual(new Set())
      expect(await loaded.wrongs()).toEqual([])
      expect(counts[503] ?? 0).toBeGreaterThan(0)
    },
    TIME_LIMIT_MS
  )
})
