import type { z } from 'zod'
import { describeSettings } from './load.js'
import { splitDatabaseUrl } from './database-url.js'
import { splitRedisUrl } from './redis-url.js'
import { Secret } from './secret.js'

/** A secret with fewer different characters was not generated at random. */
const DIFFERENT_CHARACTERS_MIN = 10

/** Passwords that documents and images ship with. */
const WELL_KNOWN_PASSWORDS: ReadonlySet<string> = new Set([
  'admin',
  'changeme',
  'example',
  'password',
  'postgres',
  'redis',
  'root',
  'secret',
  'test'
])

/**
 * Finds secrets that others may know or guess: an example from the documentation, a repeated word, one secret used for two
 * purposes, or a common password.
 *
 * @param schema the schema that the settings were read with
 * @returns one sentence per problem, for a ConfigurationError; none of them contains a secret
 */
export function findWeakSecrets<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  config: Readonly<Record<string, unknown>>
): string[] {
  const problems: string[] = []
  const firstUse = new Map<string, string>()
  for (const { name, example } of describeSettings(schema)) {
    for (const value of secretsOf(config[name])) {
      const problem = weaknessOf(value, example)
      if (problem !== undefined) problems.push(`${name}: ${problem}`)
      const earlier = firstUse.get(value)
      if (earlier !== undefined && !isUrl(value)) {
        problems.push(`${name}: must not be the same as ${earlier}: draw each secret anew`)
      }
      firstUse.set(value, name)
    }
  }
  return problems
}

function secretsOf(setting: unknown): readonly string[] {
  if (!(setting instanceof Secret)) return []
  const value: unknown = setting.reveal()
  return typeof value === 'string' ? [value] : (value as readonly string[])
}

function weaknessOf(value: string, example: string): string | undefined {
  const url = firstUrlOf(value)
  if (isUrl(url)) {
    return WELL_KNOWN_PASSWORDS.has(new URL(url).password.toLowerCase())
      ? 'has a password that everybody tries first: change it'
      : undefined
  }
  const drawOne = 'draw one at random, as by `openssl rand -base64 32`'
  if (value === example || value.includes('long-random-text'))
    return `is an example of the documents: ${drawOne}`
  return new Set(value).size < DIFFERENT_CHARACTERS_MIN ? `can be guessed: ${drawOne}` : undefined
}

function isUrl(value: string): boolean {
  return value.includes('://') && URL.canParse(firstUrlOf(value))
}

/** A URL of several hosts is not one that can be parsed; all of them have one password. */
function firstUrlOf(value: string): string {
  return (splitDatabaseUrl(value) ?? splitRedisUrl(value))?.[0] ?? value
}
