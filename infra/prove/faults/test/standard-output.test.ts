import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Chatterer, type ChatteredLine } from '../src/chatterer.js'
import { SmallDisk } from '../src/small-disk.js'

/** More than the buffer plus a pipe or the disk of these tests can take, in lines of a thousand characters. */
const TOO_MUCH = 5_000
const DISK_BYTES = 2_000_000

let chatterer: Chatterer | undefined
afterEach(() => {
  chatterer?.kill()
  chatterer = undefined
})

function start(standardOutput: number | 'pipe' = 'pipe'): Chatterer {
  chatterer = new Chatterer(standardOutput)
  return chatterer
}

describe('the log of a process', () => {
  it('writes a line soon, even without others', async () => {
    const quiet = start()
    await quiet.chat(1)
    // It continues: the line appears after some time.
    expect(await quiet.lines().next()).toMatchObject({ value: { index: 0 } })
  })

  it('is complete when the process ends by itself', async () => {
    const finishing = start()
    const ended = finishing.ended()
    await finishing.chat(20)
    finishing.finish()
    expect(await all(finishing.lines())).toHaveLength(20)
    expect(await ended).toEqual({ status: 0, signal: null })
  })

  it('is complete when the process exits immediately', async () => {
    const exiting = start()
    const ended = exiting.ended()
    // More than its pipe holds: it waits for its reader.
    await exiting.chat(600)
    exiting.exit(3)
    expect(await all(exiting.lines())).toHaveLength(600)
    expect(await ended).toEqual({ status: 3, signal: null })
  })

  it('contains the uncaught error that ended the process', async () => {
    const crashing = start()
    const ended = crashing.ended()
    crashing.crash()
    const told = (await all(crashing.lines())).map(({ msg }) => msg)
    expect(told).toEqual(['uncaught exception', 'stopping', 'stopped'])
    expect(await ended).toEqual({ status: 1, signal: null })
  })
})

describe('a process whose standard output has no reader', () => {
  it('continues, buffers up to its limit, and reports lost lines once there is a reader', async () => {
    const unread = start()
    await unread.chat(TOO_MUCH)
    await unread.despair()
    const lines = unread.lines()
    const told: ChatteredLine[] = []
    let lost = 0
    while (told.length + lost < TOO_MUCH + 1) {
      const { value } = await lines.next()
      if (value?.count === undefined) told.push(value as ChatteredLine)
      else lost += value.count
    }
    expect(told.length + lost).toBe(TOO_MUCH + 1)
    expect(told.length).toBeLessThan(TOO_MUCH / 2)
    await unread.chat(1)
    expect(await lines.next()).toMatchObject({ value: { index: 0 } })
  })

  it.each(['told to', 'by an error that nobody caught'])('ends all the same: %s', async (how) => {
    const unread = start()
    await unread.chat(TOO_MUCH)
    const ended = unread.ended()
    if (how === 'told to') unread.terminate()
    else unread.crash()
    expect(await ended).toEqual({ status: how === 'told to' ? 0 : 1, signal: null })
  })
})

const disk = await SmallDisk.mount(DISK_BYTES)
if (disk === undefined) console.log('A full disk is not tried: this user may not mount one in memory.')
else await disk.unmount()

// Without a disk there is nothing to run: the reason is printed above.
const itOnDisk = disk === undefined ? it.skip : it

describe('a process whose standard output is on a disk that', () => {
  /** Runs a process that writes to such a disk; resolves to the lines on it afterwards. */
  const onDisk = async (
    action: (writer: Chatterer, small: SmallDisk) => Promise<void>
  ): Promise<ChatteredLine[]> => {
    const small = await SmallDisk.mount(DISK_BYTES)
    if (small === undefined) throw new Error('there is no disk')
    const path = join(small.directory, 'log')
    const log = openSync(path, 'a')
    try {
      await action(start(log), small)
      const text = await readFile(path, 'utf8')
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as ChatteredLine)
    } finally {
      chatterer?.kill()
      closeSync(log)
      await small.unmount()
    }
  }

  itOnDisk('is full goes on without its log, and tells afterwards what was lost', async () => {
    const told = await onDisk(async (writer, small) => {
      await writer.chat(10)
      await writer.despair()
      await small.keepFull(async () => {
        await writer.chat(TOO_MUCH)
        await writer.despair()
      })
      await small.free()
      await writer.chat(1)
      await writer.despair()
      const ended = writer.ended()
      writer.finish()
      expect(await ended).toEqual({ status: 0, signal: null })
    })
    const losses = told.flatMap(({ count }) => count ?? [])
    expect(losses.length).toBeGreaterThan(0)
    const lost = losses.reduce((sum, count) => sum + count, 0)
    // Three of them fatal.
    expect(told.length - losses.length + lost).toBe(10 + TOO_MUCH + 1 + 3)
  })

  itOnDisk('stays full ends all the same when it is told to', async () => {
    await onDisk(async (writer, small) => {
      await small.keepFull(async () => {
        await writer.chat(TOO_MUCH)
        const ended = writer.ended()
        writer.terminate()
        expect(await ended).toEqual({ status: 0, signal: null })
      })
    })
  })
})

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found = []
  for await (const item of items) found.push(item)
  return found
}
