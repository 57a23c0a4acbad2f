import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createLogger, type RunningService, runProcess } from './index.js'
import { CLOSING_MAX_MS } from './lifecycle.js'

const logger = createLogger({ service: 'test', level: 'silent' })
const SIGNALS = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection'] as const

/** Statuses that the process would have exited with. */
let exits: unknown[]
/** What others listen for, put back after each test. */
let listeners: (readonly [event: string, listeners: ((...parameters: unknown[]) => void)[]])[]
beforeEach(() => {
  jest.useFakeTimers()
  exits = []
  jest.spyOn(process, 'exit').mockImplementation((status) => void exits.push(status) as never)
  listeners = SIGNALS.map((event) => [event, process.listeners(event as 'SIGTERM') as never[]])
  for (const event of SIGNALS) process.removeAllListeners(event)
})
afterEach(() => {
  for (const [event, before] of listeners) {
    process.removeAllListeners(event)
    for (const listener of before) process.on(event, listener)
  }
  jest.restoreAllMocks()
  jest.useRealTimers()
})

const settled = (): Promise<void> => jest.advanceTimersByTimeAsync(0)

/** A service whose start and stop the test controls. */
function controlledService() {
  let start: (service: RunningService) => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  let stopped: () => void = () => undefined
  const started = new Promise<RunningService>((resolve, reject) => {
    start = resolve
    fail = reject
  })
  const stop = jest.fn(() => new Promise<void>((resolve) => (stopped = resolve)))
  return {
    started,
    stop,
    start: () => start({ stop }),
    fail: (error: Error) => fail(error),
    end: () => stopped()
  }
}

describe('a process', () => {
  it('stops its service on a signal, and then exits', async () => {
    const service = controlledService()
    runProcess({ logger, stopMs: 30_000, start: () => service.started })
    service.start()
    await settled()
    process.emit('SIGTERM')
    process.emit('SIGTERM')
    await settled()
    expect(service.stop).toHaveBeenCalledTimes(1)
    expect(exits).toEqual([])
    service.end()
    await settled()
    expect(exits).toEqual([0])
  })

  it('stops the started parts on a signal during startup', async () => {
    const service = controlledService()
    runProcess({ logger, stopMs: 30_000, start: () => service.started })
    process.emit('SIGTERM')
    await settled()
    expect(exits).toEqual([])
    service.start()
    await settled()
    expect(service.stop).toHaveBeenCalledTimes(1)
    service.end()
    await settled()
    expect(exits).toEqual([0])
  })

  it('exits even if its service does not stop in time', async () => {
    const service = controlledService()
    runProcess({ logger, stopMs: 30_000, start: () => service.started })
    service.start()
    await settled()
    process.emit('SIGTERM')
    await jest.advanceTimersByTimeAsync(30_000 + CLOSING_MAX_MS - 1)
    expect(exits).toEqual([])
    await jest.advanceTimersByTimeAsync(1)
    expect(exits).toEqual([1])
  })

  it('exits with an error when its service cannot start', async () => {
    const service = controlledService()
    runProcess({ logger, stopMs: 30_000, start: () => service.started })
    service.fail(new Error('no database'))
    await settled()
    expect(exits).toEqual([1])
  })

  it('exits with an error after an uncaught error, and stops its service', async () => {
    const service = controlledService()
    runProcess({ logger, stopMs: 30_000, start: () => service.started })
    service.start()
    await settled()
    process.emit('uncaughtException', new Error('unexpected'))
    await settled()
    service.end()
    await settled()
    expect(exits).toEqual([1])
  })
})
