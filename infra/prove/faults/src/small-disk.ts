import { execFile } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Size of the writes that fill a disk, in bytes. */
const BLOCK_BYTES = 4_194_304

/** How often freed space is taken again. */
const REFILL_INTERVAL_MS = 20

/** A disk in memory, small enough to be full. */
export class SmallDisk {
  readonly #ballast: string

  private constructor(readonly directory: string) {
    this.#ballast = join(directory, 'ballast')
  }

  /**
   * Mounts one.
   *
   * @param bytes how much it holds
   * @returns undefined where this process may not mount anything
   */
  static async mount(bytes: number): Promise<SmallDisk | undefined> {
    const directory = await mkdtemp(join(await realpath(tmpdir()), 'open-payments-disk-'))
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${String(bytes)},mode=0711`, 'tmpfs', directory])
      return new SmallDisk(directory)
    } catch {
      await rm(directory, { recursive: true })
      return undefined
    }
  }

  /** Takes all free space, begins something, and takes what others free until it has ended. */
  async keepFull(during: () => Promise<unknown>): Promise<void> {
    let full = true
    const end = (): void => {
      full = false
    }
    this.#fill()
    const happened = during().finally(end)
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- changed by a callback meanwhile
    while (full) {
      await Promise.race([happened, delay(REFILL_INTERVAL_MS)])
      this.#fill()
    }
    await happened
  }

  /** Synchronously: services in this process would otherwise free space meanwhile. */
  #fill(): void {
    const file = openSync(this.#ballast, 'a')
    try {
      for (let length = BLOCK_BYTES; length > 0;) {
        if (!hasWritten(file, length)) length = Math.floor(length / 2)
      }
    } finally {
      closeSync(file)
    }
  }

  /** Gives it back. */
  async free(): Promise<void> {
    await rm(this.#ballast)
  }

  async unmount(): Promise<void> {
    await run('umount', [this.directory])
    await rm(this.directory, { recursive: true })
  }
}

/** @returns false when there was no room for all of it */
function hasWritten(file: number, length: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(length)) === length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
