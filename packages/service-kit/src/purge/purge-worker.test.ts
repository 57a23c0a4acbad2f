import { createLogger } from '@open-payments-server/runtime'
import { describe, expect, it } from '@jest/globals'
import { createPurgeWorker } from './purge-worker.js'

const DAY_SECONDS = 86_400
const logger = createLogger({ service: 'test', level: 'silent' })

describe('the purge', () => {
  it('goes on batch by batch as long as there is more', async () => {
    let left = 3
    await new Promise<void>((resolve) => {
      const worker = createPurgeWorker({
        intervalSeconds: DAY_SECONDS,
        logger,
        purgeBatch: () => {
          left -= 1
          if (left === 0) void worker.stop().then(resolve)
          return Promise.resolve(left > 0)
        }
      })
    })
    expect(left).toBe(0)
  })

  it('stops in the pause between two batches', async () => {
    let count = 0
    let begun = (): void => undefined
    const first = new Promise<void>((resolve) => {
      begun = resolve
    })
    const worker = createPurgeWorker({
      intervalSeconds: DAY_SECONDS,
      logger,
      purgeBatch: () => {
        count += 1
        begun()
        return Promise.resolve(true)
      }
    })
    await first
    await worker.stop()
    expect(count).toBe(1)
  })
})
