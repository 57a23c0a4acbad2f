import { describe, expect, it } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import { type Dependency, Readiness } from './readiness.js'

const UP = (): Promise<undefined> => Promise.resolve(undefined)

function readinessOf(
  dependencies: readonly Dependency[],
  timeoutMs?: number
): { readiness: Readiness; lines: string[] } {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const logger = createLogger({ service: 'test', level: 'info', destination })
  return {
    readiness: new Readiness({ dependencies, logger, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    lines
  }
}

describe('a service', () => {
  it('is ready while all its dependencies work', async () => {
    const { readiness } = readinessOf([{ name: 'database', needed: 'always', check: UP }])
    expect(await readiness.report()).toEqual({
      status: 'ready',
      reasons: [],
      dependencies: [{ name: 'database', status: 'up' }]
    })
  })

  it('says why it is not ready, without the error text', async () => {
    const failed = (): Promise<never> => Promise.reject(new Error('password of 10.0.0.7 refused'))
    const { readiness, lines } = readinessOf([
      { name: 'database', needed: 'always', check: () => Promise.resolve('is read-only') },
      { name: 'auth-server', needed: 'at-start', check: failed }
    ])
    const report = await readiness.report()
    expect(report).toEqual({
      status: 'not ready',
      reasons: ['database: is read-only', 'auth-server: does not answer'],
      dependencies: [
        { name: 'database', status: 'down', reason: 'is read-only' },
        { name: 'auth-server', status: 'down', reason: 'does not answer' }
      ]
    })
    expect(lines.join('')).toContain('password of 10.0.0.7 refused')
  })

  it('limits how long it waits for a dependency', async () => {
    const { readiness } = readinessOf(
      [{ name: 'database', needed: 'always', check: () => new Promise(() => undefined) }],
      1
    )
    expect((await readiness.report()).reasons).toEqual(['database: does not answer'])
  })

  it('needs a start-only dependency only once', async () => {
    let wrong: string | undefined = 'is away'
    const { readiness } = readinessOf([
      { name: 'auth-server', needed: 'at-start', check: () => Promise.resolve(wrong) }
    ])
    expect((await readiness.report()).status).toBe('not ready')
    wrong = undefined
    expect((await readiness.report()).status).toBe('ready')
    wrong = 'is away'
    expect(await readiness.report()).toEqual({
      status: 'ready',
      reasons: [],
      dependencies: [{ name: 'auth-server', status: 'down', reason: 'is away' }]
    })
  })

  it('is not ready once it stops', async () => {
    const { readiness } = readinessOf([{ name: 'database', needed: 'always', check: UP }])
    readiness.stop()
    expect(await readiness.report()).toMatchObject({ status: 'not ready', reasons: ['stopping'] })
  })

  it('checks once for concurrent callers, and logs only changes', async () => {
    let looks = 0
    let wrong: string | undefined = 'is read-only'
    const check = (): Promise<string | undefined> => {
      looks += 1
      return Promise.resolve(wrong)
    }
    const { readiness, lines } = readinessOf([{ name: 'database', needed: 'always', check }])
    await Promise.all(Array.from({ length: 50 }, () => readiness.report()))
    expect(looks).toBe(1)
    await readiness.report()
    wrong = undefined
    await readiness.report()
    await readiness.report()
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'dependency cannot be worked with',
      'dependency answers again'
    ])
  })
})
