import { describe, expect, it } from '@jest/globals'
import { createLogger, Lifecycle, startWorker } from './index.js'

const logger = createLogger({ service: 'test', level: 'silent' })
const NEVER_MS = 3_600_000

describe('a worker', () => {
  it('works until there is no more work, then sleeps until it is woken', async () => {
    let work = 3
    const runs: number[] = []
    const done: (() => void)[] = []
    const idle = (): Promise<void> => new Promise((resolve) => done.push(resolve))
    let idled = idle()
    const worker = startWorker({
      name: 'test',
      pollMs: NEVER_MS,
      logger,
      runBatch: () => {
        runs.push(work)
        if (work > 0) work -= 1
        if (work === 0) done.shift()?.()
        return Promise.resolve(work > 0)
      }
    })
    await idled
    expect(runs).toEqual([3, 2, 1])
    idled = idle()
    work = 2
    worker.wake()
    await idled
    expect(runs).toEqual([3, 2, 1, 2, 1])
    await worker.stop()
  })

  it('runs one batch for all wake-ups during a pause', async () => {
    const begun: (() => void)[] = []
    const next = (): Promise<void> => new Promise((resolve) => begun.push(resolve))
    let batches = 0
    let [begins, wakes] = [next(), 0]
    const worker = startWorker({
      name: 'test',
      pollMs: NEVER_MS,
      restMs: 1_000,
      logger,
      runBatch: () => {
        batches += 1
        begun.shift()?.()
        return Promise.resolve(false)
      }
    })
    await begins
    begins = next()
    while (batches === 1) {
      worker.wake()
      wakes += 1
      await new Promise(setImmediate)
    }
    await begins
    expect(wakes).toBeGreaterThan(1)
    expect(batches).toBe(2)
    await worker.stop()
  })

  it('stops during a pause', async () => {
    const worker = startWorker({
      name: 'test',
      pollMs: NEVER_MS,
      restMs: NEVER_MS,
      logger,
      runBatch: () => Promise.resolve(false)
    })
    worker.wake()
    await new Promise(setImmediate)
    await worker.stop()
  })

  it('goes on after a batch that failed', async () => {
    let calls = 0
    let failures = 0
    let succeed: () => void = () => undefined
    const succeeded = new Promise<void>((resolve) => {
      succeed = resolve
    })
    const worker = startWorker({
      name: 'test',
      pollMs: 1,
      logger,
      runBatch: () => {
        calls += 1
        if (calls === 1) return Promise.reject(new Error('the first batch fails'))
        succeed()
        return Promise.resolve(false)
      },
      onBatchFailed: () => {
        failures += 1
      }
    })
    await succeeded
    await worker.stop()
    expect(failures).toBe(1)
    expect(calls).toBeGreaterThanOrEqual(2)
  })

  it('finishes the batch that runs before it stops', async () => {
    let finish: () => void = () => undefined
    let finished = false
    const worker = startWorker({
      name: 'test',
      pollMs: NEVER_MS,
      logger,
      runBatch: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        finished = true
        return true
      }
    })
    await Promise.resolve()
    const stopped = worker.stop()
    finish()
    await stopped
    expect(finished).toBe(true)
  })
})

describe('a lifecycle', () => {
  it('stops its parts in reverse, each once, even after one fails', async () => {
    const stopped: string[] = []
    const lifecycle = new Lifecycle(logger)
    for (const name of ['database', 'broken', 'http']) {
      lifecycle.add({
        name,
        stop: () => {
          stopped.push(name)
          return name === 'broken' ? Promise.reject(new Error('does not stop')) : Promise.resolve()
        }
      })
    }
    await Promise.all([lifecycle.stop(), lifecycle.stop()])
    expect(stopped).toEqual(['http', 'broken', 'database'])
  })
})
