import { describe, expect, it } from '@jest/globals'
import { createLogger, type LogLevel } from './logger.js'
import { type LineFields, prepareLine } from './prepared-line.js'

const TRACED = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }

function createLog(level: LogLevel = 'info') {
  const lines: string[] = []
  const logger = createLogger({ service: 'test', level, destination: { write: (line) => lines.push(line) } })
  return { logger, lines, read: (index: number) => JSON.parse(lines[index] ?? '') as object }
}

describe('a prepared line', () => {
  const constant = { method: 'GET', route: '/quotes/:id' }
  const fields = { status: 200, durationMs: 0.125, aborted: false }

  it('says what the logger would say, in the same order', () => {
    const { logger, lines, read } = createLog()
    logger.info({ ...constant, ...fields }, 'request')
    prepareLine(logger, constant, 'request')(fields)
    expect(read(1)).toEqual({ ...read(0), time: expect.any(String) })
    expect(Object.keys(read(1))).toEqual(Object.keys(read(0)))
    expect(lines[1]?.at(-1)).toBe('\n')
  })

  it('has the fields of a logger that was given some', () => {
    const { logger, read } = createLog()
    prepareLine(logger.child({ replica: 'one' }), {}, 'request')(fields)
    expect(read(0)).toMatchObject({ service: 'test', replica: 'one', ...fields, msg: 'request' })
  })

  it('names the trace that it is told, and none outside of any', () => {
    const { logger, read } = createLog()
    const write = prepareLine(logger, constant, 'request')
    write(fields, TRACED)
    write(fields)
    expect(read(0)).toMatchObject({ trace_id: TRACED.traceId, span_id: TRACED.spanId })
    expect(read(1)).not.toHaveProperty('trace_id')
  })

  it.each<[LineFields]>([[{ text: 'a "b"\n{' }], [{ none: 'none' }], [{ count: -1, share: 1e-7, is: true }]])(
    'stays one object, whatever it is told: %j',
    (told) => {
      const { logger, lines, read } = createLog()
      prepareLine(logger, told, 'a "b"\n')(told)
      expect(lines[0]?.slice(0, -1)).not.toContain('\n')
      expect(read(0)).toMatchObject({ ...told, msg: 'a "b"\n' })
    }
  )

  it('writes numbers that JSON has no words for as null', () => {
    const { logger, read } = createLog()
    prepareLine(logger, {}, 'request')({ durationMs: NaN, status: Infinity })
    expect(read(0)).toMatchObject({ durationMs: null, status: null })
  })

  it('is not written where the log is less talkative', () => {
    const { logger, lines } = createLog('warn')
    prepareLine(logger, constant, 'request')(fields)
    expect(lines).toEqual([])
  })
})
