import { readFileSync } from 'node:fs'
import type { z } from 'zod'

/** A service cannot start with the settings it was given. The message names each of them and says what to change. */
export class ConfigurationError extends Error {
  /** One sentence per setting that is wrong. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(['The configuration cannot be used:', ...problems.map((problem) => `  - ${problem}`)].join('\n'))
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/** Settings of the process: `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A variable that differs from a known setting by at most this many letters counts as a misspelling of it. */
const TYPO_DISTANCE_MAX = 2

/**
 * Reads the settings of a service from the environment, once. Secrets may be given as `<NAME>_FILE` instead.
 *
 * @returns the settings, frozen
 * @throws ConfigurationError naming every setting that is missing, malformed, given twice, or misspelt
 */
export function loadConfiguration<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  environment: Environment
): Readonly<z.output<z.ZodObject<Shape>>> {
  const problems: string[] = []
  const given: Record<string, string> = {}
  for (const setting of describeSettings(schema)) {
    const value = readSetting(setting, environment, problems)
    if (value !== undefined) given[setting.name] = value
  }
  problems.push(...misspelt(schema, environment))

  const parsed = schema.safeParse(given)
  if (!parsed.success) problems.push(...parsed.error.issues.map((issue) => explain(schema, issue, given)))
  if (problems.length > 0 || !parsed.success) throw new ConfigurationError(problems)
  return Object.freeze(parsed.data)
}

/** The description of one setting, for the reference page. */
export interface SettingDescription {
  /** Name of the environment variable. */
  readonly name: string
  readonly description: string
  readonly example: string
  /** Default value; undefined when the setting is required or optional. */
  readonly defaultValue: string | undefined
  /** Whether the service does not start without it. */
  readonly required: boolean
  readonly secret: boolean
  /** A regular expression that every accepted value matches; undefined where there is none. */
  readonly pattern: string | undefined
}

/** Lists the settings of a schema in its order: the source of the reference page. */
export function describeSettings<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>
): SettingDescription[] {
  return Object.entries(schema.shape).map(([name, setting]) => {
    const type = setting as z.ZodType
    const meta = findMeta(type)
    return {
      name,
      description: meta.description ?? '',
      example: meta.examples?.[0] ?? '',
      defaultValue: findDefault(type),
      required: !type.safeParse(undefined).success,
      secret: meta.secret === true,
      pattern: meta.pattern
    }
  })
}

interface DocumentedMeta {
  description?: string
  examples?: string[]
  secret?: boolean
  pattern?: string | undefined
}

/** Unwraps `.optional()`, `.default()` and `.prefault()` to find the description of the setting itself. */
function findMeta(type: z.ZodType): DocumentedMeta {
  const own = type.meta() as DocumentedMeta | undefined
  if (own?.description !== undefined) return own
  const inner = innerType(type)
  return inner === undefined ? {} : findMeta(inner)
}

function findDefault(type: z.ZodType): string | undefined {
  const { defaultValue } = type.def as { defaultValue?: string | number | boolean | bigint | object }
  if (typeof defaultValue === 'object') return JSON.stringify(defaultValue)
  if (defaultValue !== undefined) return String(defaultValue)
  const inner = innerType(type)
  return inner === undefined ? undefined : findDefault(inner)
}

function innerType(type: z.ZodType): z.ZodType | undefined {
  return (type.def as { innerType?: z.ZodType }).innerType
}

function readSetting(
  setting: SettingDescription,
  environment: Environment,
  problems: string[]
): string | undefined {
  const direct = environment[setting.name]
  const path = setting.secret ? environment[`${setting.name}_FILE`] : undefined
  if (direct !== undefined && path !== undefined) {
    problems.push(`${setting.name} and ${setting.name}_FILE are both set: keep one of them.`)
    return undefined
  }
  if (path === undefined) return direct
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    // Not the path: someone who confuses this setting with the other one gives the secret itself.
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    problems.push(`${setting.name}_FILE names a file that cannot be read: ${reason}.`)
    return undefined
  }
}

function explain<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  issue: z.core.$ZodIssue,
  given: Record<string, string>
): string {
  const name = String(issue.path[0] ?? '')
  const setting = describeSettings(schema).find((candidate) => candidate.name === name)
  if (setting === undefined) return issue.message
  const what = name in given ? issue.message : 'is not set'
  return `${name}: ${what}. ${setting.description} Example: ${name}=${setting.example}`
}

/** Variables that Kubernetes sets in every pod for each service of its namespace. */
const SERVICE_LINK = /_(SERVICE_HOST|SERVICE_PORT|SERVICE_PORT_\w+|PORT|PORT_\d+_(TCP|UDP|SCTP)\w*)$/

/** Names defined by OpenTelemetry for any reader: they are not only ours. */
const SHARED_FAMILY = /^OTEL_/

/** Variables that look like misspelt settings of the schema and have no effect. */
function misspelt<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  environment: Environment
): string[] {
  const known = Object.keys(schema.shape)
  const accepted = new Set(known.flatMap((name) => [name, `${name}_FILE`]))
  const families = familiesOf(known)
  return Object.keys(environment).flatMap((name) => {
    if (accepted.has(name)) return []
    const meant = known.find((candidate) => isNear(candidate, name) && !(candidate in environment))
    if (meant !== undefined) return [`${name} is not a setting: did you mean ${meant}?`]
    const family = familyOf(name)
    if (!families.has(family) || SERVICE_LINK.test(name)) return []
    return [`${name} is not a setting. Those that begin like it: ${beginningWith(family, known)}.`]
  })
}

/** The first two words of a name: few other variables start like that. */
function familyOf(name: string): string {
  return name.split('_', 2).join('_')
}

/** Prefixes that two or more settings share, and nothing else. */
function familiesOf(names: readonly string[]): ReadonlySet<string> {
  const families = names.map(familyOf)
  const repeated = families.filter((family, index) => families.indexOf(family) !== index)
  return new Set(repeated.filter((family) => !SHARED_FAMILY.test(family)))
}

function beginningWith(family: string, names: readonly string[]): string {
  return names.filter((name) => familyOf(name) === family).join(', ')
}

function isNear(left: string, right: string): boolean {
  if (Math.abs(left.length - right.length) > TYPO_DISTANCE_MAX || Math.min(left.length, right.length) < 6)
    return false
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= right.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution))
    }
    previous = current
  }
  return (previous[right.length] ?? Infinity) <= TYPO_DISTANCE_MAX
}
