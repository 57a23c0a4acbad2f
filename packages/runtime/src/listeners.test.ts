import { describe, expect, it, jest } from '@jest/globals'
import { type Listener, Listeners } from './index.js'

describe('listeners', () => {
  it('announce their stop, serve during the delay, and then stop together', async () => {
    jest.useFakeTimers()
    const events: string[] = []
    const ends: (() => void)[] = []
    const listeners = new Listeners({ delayMs: 10_000, graceMs: 25_000 })
    const listener = (name: string): Listener => ({
      announceStop: () => void events.push(`${name} announces`),
      stop(graceMs) {
        events.push(`${name} stops within ${String(graceMs)}`)
        return new Promise((resolve) => ends.push(resolve))
      }
    })
    for (const name of ['gRPC', 'HTTP']) listeners.add(listener(name))

    const stopped = listeners.stop()
    await jest.advanceTimersByTimeAsync(9_999)
    expect(events).toEqual(['gRPC announces', 'HTTP announces'])
    await jest.advanceTimersByTimeAsync(1)
    expect(events.slice(2)).toEqual(['gRPC stops within 25000', 'HTTP stops within 25000'])
    for (const end of ends) end()
    await stopped
    jest.useRealTimers()
  })
})
