import { describe, expect, it } from '@jest/globals'
import { createLogger } from './logger.js'

/** What is logged, as the one line that it must be. */
function logged(fields: object, message?: string): Record<string, unknown> {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  createLogger({ service: 'test', level: 'trace', destination }).info(fields, message)
  expect(lines).toHaveLength(1)
  expect(lines[0]?.slice(0, -1)).not.toMatch(/\p{Cc}/u)
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>
}

describe('a log', () => {
  it('writes one object per line, whatever is logged', () => {
    const text = 'a\n{"level":60}\r\n\u001b[31m'
    expect(logged({ text }, text)).toMatchObject({ level: 30, service: 'test', text, msg: text })
  })

  it('logs an error with its stack, and of its properties only codes and names', () => {
    const refused = Object.assign(new Error('new row violates check constraint "positive"'), {
      code: '23514',
      constraint: 'positive',
      table: 'grant_request',
      detail: 'Failing row contains (canary).',
      where: 'canary',
      command: { args: ['canary'] },
      input: 'canary'
    })
    const failed = new Error('not written', { cause: new AggregateError([refused], 'tried twice') })
    const line = logged({ err: failed })
    expect(JSON.stringify(line)).not.toContain('canary')
    expect(line.err).toMatchObject({
      type: 'Error',
      message: 'not written',
      stack: expect.stringMatching(/^ +at .*logger\.test/),
      cause: {
        type: 'AggregateError',
        errors: [{ code: '23514', constraint: 'positive', table: 'grant_request' }]
      }
    })
  })

  it.each([
    'connect failed: postgresql://user:canary@host/db',
    'connect failed: redis://:canary@host',
    'unexpected header GNAP canary-of-an-access-token',
    'password=canary-of-a-connection-string is not accepted',
    `{"token": "canary-of-an-access-token"}`,
    `{"access_token": {"value": "canary-of-an-access-token"}}`,
    `{"sharedSecret":"canary-of-a-shared-secret"}`,
    '/finish?interact_ref=canary-of-a-reference',
    'rediss://:with@canary@host is not a URL',
    `${'x'.repeat(1_980)} token=canary-at-the-place-where-it-is-cut`
  ])('strikes secrets out of the message of an error: %s', (message) => {
    expect(JSON.stringify(logged({ err: new Error(message, { cause: message }) }))).not.toContain('canary')
  })

  it('redacts them in messages too, and in errors passed as fields', () => {
    const secret = 'redis://:canary@host'
    expect(JSON.stringify(logged({}, secret))).not.toContain('canary')
    const line = logged(new Error(secret))
    expect(JSON.stringify(line)).not.toContain('canary')
    expect(line).toMatchObject({
      msg: 'redis://[redacted]@host',
      err: { message: 'redis://[redacted]@host' }
    })
  })

  it('keeps messages that only mention secrets, and truncates long ones', () => {
    const message = 'unknown token, or not signed by the client that holds it'
    expect(logged({ err: new Error(message) })).toMatchObject({ err: { message } })
    const { err } = logged({ err: new Error('x'.repeat(5_000)) }) as { err: { message: string } }
    expect(err.message).toHaveLength(2_000)
  })

  it('handles circular causes', () => {
    const error = new Error('first')
    error.cause = new Error('second', { cause: error })
    expect(logged({ err: error })).toMatchObject({ err: { cause: { cause: { message: 'first' } } } })
  })

  it('redacts fields with secret names', () => {
    const headers = {
      authorization: 'canary',
      'x-idp-secret': 'canary',
      'set-cookie': 'canary',
      cookie: 'canary'
    }
    const line = logged({
      ...headers,
      headers,
      request: { accessToken: 'canary', 'signature-input': 'canary' }
    })
    expect(JSON.stringify(line)).not.toContain('canary')
  })

  it('logs only the type of a thrown value that is not an error', () => {
    expect(logged({ err: { secret: 'canary' } }).err).toBe('object')
  })
})
