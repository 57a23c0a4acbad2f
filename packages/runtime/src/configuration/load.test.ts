import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { ConfigurationError, describeSettings, loadConfiguration, setting } from './index.js'

const schema = z.object({
  PUBLIC_URL: setting.url({ description: 'Where it is reached.', example: 'https://wallet.example' }),
  HTTP_PORT: setting.port({ description: 'Port.', example: '3000' }).prefault('3000'),
  API_SECRET: setting.secret({ description: 'What callers send.', example: 'a-long-random-text' }),
  CACHE_URL: setting.redisUrl({ description: 'Cache.', example: 'redis://redis' }).optional(),
  REFLECTION: setting.flag({ description: 'Whether.', example: 'false' }).prefault('false'),
  MODE: setting.oneOf({ description: 'Mode.', example: 'full' }, ['full', 'published']).prefault('full')
})
const complete = { PUBLIC_URL: 'https://wallet.example', API_SECRET: '0123456789abcdef' }

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfiguration(schema, environment)
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
  return []
}

describe('loading the configuration', () => {
  it('parses settings and fills in defaults', () => {
    const config = loadConfiguration(schema, { ...complete, REFLECTION: 'TRUE', UNRELATED: 'kept out' })
    expect(config).toMatchObject({
      PUBLIC_URL: 'https://wallet.example',
      HTTP_PORT: 3000,
      REFLECTION: true,
      MODE: 'full'
    })
    expect(config.CACHE_URL).toBeUndefined()
    expect(Object.isFrozen(config)).toBe(true)
  })

  it('names every setting that is missing or malformed, what was expected, and an example', () => {
    const problems = problemsOf({ PUBLIC_URL: 'wallet.example', HTTP_PORT: '70000', MODE: 'other' })
    expect(problems).toHaveLength(4)
    expect(problems.join('\n')).toMatch(
      /PUBLIC_URL: expected an http or https URL.*Example: PUBLIC_URL=https:\/\/wallet.example/
    )
    expect(problems.join('\n')).toMatch(/HTTP_PORT: expected a whole number from 0 to 65535/)
    expect(problems.join('\n')).toMatch(/API_SECRET: is not set/)
    expect(problems.join('\n')).toMatch(/MODE: expected one of full, published/)
  })

  it.each([['', 'http://user:password@host', 'https://host/?query=1', 'https://host/#part', 'ftp://host']])(
    'refuses %s as a public URL',
    (url) => {
      expect(problemsOf({ ...complete, PUBLIC_URL: url })).toHaveLength(1)
    }
  )

  it.each([
    ['https://auth.example', true],
    ['https://auth.example/', true],
    ['https://wallet.example/auth/', true],
    ['https://wallet.example/auth', false],
    ['wallet.example/auth/', false]
  ])('as a grant endpoint, takes %s: %p', (url, isTaken) => {
    const endpoint = setting.grantEndpoint({ description: 'Where.', example: 'https://auth.example/' })
    expect(endpoint.safeParse(url).success).toBe(isTaken)
  })

  it('suggests the setting for a misspelt one', () => {
    expect(problemsOf({ ...complete, HTTP_PROT: '1' })).toEqual([
      'HTTP_PROT is not a setting: did you mean HTTP_PORT?'
    ])
  })

  it.each([
    ['HTTP_KEEP_ALIVE_SECONDS', 'HTTP_KEEP_ALIVE_SECONDS is not a setting. Those that begin like it: '],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', undefined],
    ['HTTP_KEEP_SERVICE_HOST', undefined],
    ['HTTP_KEEP_PORT_3000_TCP_ADDR', undefined],
    ['HTTP_PROXY', undefined]
  ])('refuses or leaves alone what is unknown: %s', (name, problem) => {
    const families = z.object({
      HTTP_KEEP_COUNT: setting.text({ description: 'One.', example: '1' }).optional(),
      HTTP_KEEP_TIME: setting.text({ description: 'Two.', example: '2' }).optional(),
      OTEL_EXPORTER_OTLP_HEADERS: setting.text({ description: 'Three.', example: '3' }).optional(),
      OTEL_EXPORTER_OTLP_TARGET: setting.text({ description: 'Four.', example: '4' }).optional()
    })
    const load = (): unknown => loadConfiguration(families, { [name]: '1' })
    if (problem === undefined) expect(load).not.toThrow()
    else expect(load).toThrow(`${problem}HTTP_KEEP_COUNT, HTTP_KEEP_TIME.`)
  })

  it('reads secrets from files, and refuses a secret given twice', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'configuration-')), 'secret')
    writeFileSync(file, 'fedcba9876543210\n')
    const config = loadConfiguration(schema, { PUBLIC_URL: complete.PUBLIC_URL, API_SECRET_FILE: file })
    expect(config.API_SECRET.reveal()).toBe('fedcba9876543210')
    expect(problemsOf({ ...complete, API_SECRET_FILE: file })[0]).toMatch(
      /API_SECRET and API_SECRET_FILE are both set/
    )
    expect(problemsOf({ PUBLIC_URL: complete.PUBLIC_URL, API_SECRET_FILE: `${file}.gone` })[0]).toMatch(
      /API_SECRET_FILE names a file that cannot be read/
    )
  })

  it('does not print a secret that was given as the path of its file', () => {
    const [problem] = problemsOf({
      PUBLIC_URL: complete.PUBLIC_URL,
      API_SECRET_FILE: 'mistaken-0123456789abcdef'
    })
    expect(problem).toBe('API_SECRET_FILE names a file that cannot be read: ENOENT.')
  })

  it('never prints a secret', () => {
    const config = loadConfiguration(schema, { ...complete, CACHE_URL: 'redis://:password@redis' })
    const printed = [inspect(config), JSON.stringify(config), String(config.API_SECRET)].join('\n')
    expect(printed).not.toContain('0123456789abcdef')
    expect(printed).not.toContain('password')
    expect(problemsOf({ ...complete, API_SECRET: 'tooshort' }).join()).not.toContain('tooshort')
  })

  it('describes every setting for the reference page', () => {
    const settings = describeSettings(schema)
    expect(settings.map(({ name }) => name)).toEqual(Object.keys(schema.shape))
    expect(settings[0]).toEqual({
      name: 'PUBLIC_URL',
      description: 'Where it is reached.',
      example: 'https://wallet.example',
      defaultValue: undefined,
      required: true,
      secret: false
    })
    expect(settings[1]).toMatchObject({ defaultValue: '3000', required: false, pattern: '^\\d{1,15}$' })
    expect(settings[2]).toMatchObject({ required: true, secret: true })
    expect(settings[3]).toMatchObject({ required: false, secret: true })
    const [reflection, mode] = settings.slice(4).map(({ pattern = '' }) => new RegExp(pattern, 'v'))
    for (const word of ['true', 'Yes', 'OFF', '0']) expect(word).toMatch(reflection!)
    for (const word of ['', 'maybe', 'truely', 'not 0']) expect(word).not.toMatch(reflection!)
    expect('published').toMatch(mode!)
    expect('unpublished').not.toMatch(mode!)
  })
})
