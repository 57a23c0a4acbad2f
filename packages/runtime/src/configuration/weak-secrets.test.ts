import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { findWeakSecrets, loadConfiguration, setting } from './index.js'

const schema = z.object({
  API_SECRET: setting.secret({ description: 'What callers send.', example: 'a-long-random-text' }),
  RETIRED_SECRETS: setting
    .secretList({ description: 'What callers sent before.', example: 'an-earlier-long-random-text' })
    .optional(),
  DATABASE_URL: setting
    .databaseUrl({ description: 'Database.', example: 'postgresql://wallet:password@postgres/wallet' })
    .optional(),
  REDIS_URL: setting.redisUrl({ description: 'Redis.', example: 'rediss://redis' }).optional()
})
const STRONG = '8nKx0sVd3Jq1TzRwYbLm5GhPcA7uEoFi'
const OTHER = 'Zr4TtQ9wLx2NnB6vMkC1yHs8JdGfPa0e'

const problemsOf = (environment: Record<string, string>): string[] =>
  findWeakSecrets(schema, loadConfiguration(schema, environment))

describe('weak secrets', () => {
  it('do not include random ones', () => {
    const DATABASE_URL = 'postgresql://wallet:kq8Lm2Tz@postgres/wallet'
    expect(problemsOf({ API_SECRET: STRONG, RETIRED_SECRETS: OTHER, DATABASE_URL })).toEqual([])
    expect(problemsOf({ API_SECRET: STRONG, DATABASE_URL: 'postgresql://postgres/wallet' })).toEqual([])
  })

  it.each([
    ['an example', { API_SECRET: 'a-long-random-text' }, /^API_SECRET: is an example of the documents/],
    ['another example', { API_SECRET: 'another-long-random-text' }, /^API_SECRET: is an example/],
    ['one character', { API_SECRET: 'a'.repeat(40) }, /^API_SECRET: can be guessed/],
    ['a word again and again', { API_SECRET: 'changeme'.repeat(4) }, /^API_SECRET: can be guessed/],
    [
      'one secret for two purposes',
      { API_SECRET: STRONG, RETIRED_SECRETS: `${OTHER}, ${STRONG}` },
      /^RETIRED_SECRETS: must not be the same as API_SECRET/
    ],
    [
      'a password of the documents',
      { API_SECRET: STRONG, DATABASE_URL: 'postgresql://wallet:Password@postgres/wallet' },
      /^DATABASE_URL: has a password that everybody tries first/
    ],
    [
      'one for several hosts',
      {
        API_SECRET: STRONG,
        DATABASE_URL: 'postgresql://wallet:postgres@a,b/wallet?target_session_attrs=primary'
      },
      /^DATABASE_URL: has a password that everybody tries first/
    ],
    [
      'one for several sentinels',
      { API_SECRET: STRONG, REDIS_URL: 'rediss://:redis@a,b' },
      /^REDIS_URL: has a password that everybody tries first/
    ]
  ])('%s is one', (_what, environment, problem) => {
    const problems = problemsOf(environment)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(problem)
    for (const value of Object.values(environment)) expect(problems[0]).not.toContain(value)
  })

  it('a list contains only secrets of sufficient length', () => {
    expect(() =>
      loadConfiguration(schema, { API_SECRET: STRONG, RETIRED_SECRETS: `${OTHER},short` })
    ).toThrow(/RETIRED_SECRETS: expected values of at least 16 characters, separated by commas/)
  })
})
