import { CommonRefusal, invalidField } from '@open-payments-server/value-types/refusals'
import type { z } from 'zod'

/** Maximum nesting depth of a JSON body. */
export const JSON_DEPTH_MAX = 32
/** Maximum number of members and elements of a JSON body in total. */
export const JSON_VALUES_MAX = 5_000
/** In Unicode mode, a surrogate matches only if it is alone. */
const LONE_SURROGATE = /\p{Surrogate}/u
/** Maximum number of problems reported at once. */
const PROBLEMS_MAX = 20

/**
 * Reads a request's body as a JSON object.
 *
 * @param body the bytes as received; undefined when there were none
 * @param contentType value of `Content-Type`
 * @throws Refusal `invalid-field` when it is not JSON in UTF-8, not an object, nested too deep, has too many members, has one
 *   named `__proto__`, or contains text that cannot be stored (NUL, lone surrogates); `unknown-format` for another content type
 */
export function parseJsonObject(
  body: Uint8Array | undefined,
  contentType: string | undefined
): Record<string, unknown> {
  if (body === undefined || body.length === 0) throw badBody('the request has no body')
  if (!isJsonContentType(contentType)) {
    throw new CommonRefusal('unknown-format', 'the body must be application/json')
  }
  const value = parseJson(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badBody('the body must be a JSON object')
  }
  const problem = findUnstorable(value, { path: '', depth: 0, counted: { values: 0 } })
  if (problem !== undefined) throw invalidField(problem.field, problem.message)
  return value as Record<string, unknown>
}

/**
 * Checks a value against a schema.
 *
 * @throws Refusal `invalid-field` whose `details` name each wrong field and what was expected
 */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: describeIssue })
  if (parsed.success) return parsed.data
  // A map, because a caller may name a field `constructor` or `__proto__`.
  const problems = new Map<string, string>()
  for (const issue of flatten(parsed.error.issues).slice(0, PROBLEMS_MAX)) {
    const field = fieldName(issue)
    if (!problems.has(field)) problems.set(field, isMissing(issue, value) ? 'is required' : issue.message)
  }
  const [[first, message] = ['body', 'malformed']] = problems
  const details = Object.fromEntries(problems)
  throw new CommonRefusal('invalid-field', `invalid ${first}: ${message}`, { details })
}

/** A body that is wrong as a whole. */
function badBody(problem: string, cause?: unknown): Error {
  return new CommonRefusal('invalid-field', problem, { details: { body: problem }, cause })
}

function isJsonContentType(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';')
  if (type.trim() !== 'application/json') return false
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith('charset='))
  return charset === undefined || /^charset="?utf-8"?$/.test(charset)
}

/**
 * The JSON value of a body, not validated. Reading the body with {@link parseJsonObject} afterwards does not parse it
 * again.
 *
 * @returns undefined when it is not JSON in UTF-8
 */
export function peekJson(body: Uint8Array): unknown {
  const parsed = parseOnce(body)
  return 'value' in parsed ? parsed.value : undefined
}

function parseJson(body: Uint8Array): unknown {
  const parsed = parseOnce(body)
  if ('value' in parsed) return parsed.value
  throw badBody('the body is not valid JSON in UTF-8', parsed.error)
}

/** A JSON value, or why there is none. */
type ParsedJson = { readonly value: unknown } | { readonly error: unknown }

/** Parsed bodies, for as long as their bytes are referenced. */
const parsedBodies = new WeakMap<Uint8Array, ParsedJson>()

function parseOnce(body: Uint8Array): ParsedJson {
  const known = parsedBodies.get(body)
  if (known !== undefined) return known
  const parsed = parse(body)
  parsedBodies.set(body, parsed)
  return parsed
}

function parse(body: Uint8Array): ParsedJson {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)) }
  } catch (error) {
    return { error }
  }
}

/** The position of a value in a body, and the number of values seen so far. */
interface Place {
  readonly path: string
  readonly depth: number
  readonly counted: { values: number }
}

/** PostgreSQL cannot store NUL and lone surrogates, and no legitimate request contains them. */
function findUnstorable(
  value: unknown,
  { path, depth, counted }: Place
): { field: string; message: string } | undefined {
  if (depth > JSON_DEPTH_MAX)
    return { field: 'body', message: `nested deeper than ${String(JSON_DEPTH_MAX)}` }
  if (typeof value === 'string') return findBadText(value, path)
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, child] of Object.entries(value)) {
    counted.values += 1
    if (counted.values > JSON_VALUES_MAX) {
      return { field: 'body', message: `has more than ${String(JSON_VALUES_MAX)} members and elements` }
    }
    const field = path === '' ? key : `${path}.${key}`
    const problem =
      findBadName(key, field) ??
      findBadText(key, path === '' ? 'body' : path) ??
      findUnstorable(child, { path: field, depth: depth + 1, counted })
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Schemas silently drop it, and an assignment would change the prototype. */
function findBadName(key: string, field: string): { field: string; message: string } | undefined {
  return key === '__proto__' ? { field, message: 'is no name for a member' } : undefined
}

function findBadText(text: string, field: string): { field: string; message: string } | undefined {
  if (text.includes('\u0000')) return { field, message: 'must not contain NUL' }
  if (LONE_SURROGATE.test(text)) return { field, message: 'must be well-formed Unicode' }
  return undefined
}

/** What a value must be, by the schema's name for it. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'must be a string',
  number: 'must be a number',
  int: 'must be an integer',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
  record: 'must be an object'
}

/** The message for an issue whose schema has none: what was expected, in plain words. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected]
    case 'invalid_value':
      return mustBeOneOf(issue.values)
    case 'invalid_union':
      return Array.isArray(issue.options) ? mustBeOneOf(issue.options) : undefined
    case 'unrecognized_keys':
      return 'is not known here'
    default:
      return undefined
  }
}

function mustBeOneOf(values: readonly unknown[]): string {
  const names = values.map((value) => JSON.stringify(value)).join(', ')
  return values.length === 1 ? `must be ${names}` : `must be one of ${names}`
}

/** Whether an issue is about a missing field. Zod reports that as a value of the wrong type. */
function isMissing({ code, path }: z.core.$ZodIssue, body: unknown): boolean {
  if (code === 'custom' || code === 'unrecognized_keys') return false
  const found = path.reduce<unknown>(
    (place, step) => (place as Record<PropertyKey, unknown> | undefined)?.[step],
    body
  )
  return found === undefined
}

/** An issue of a union says only that no branch matches; the closest branch says why. */
function flatten(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
    const nearest = issue.errors.toSorted((left, right) => distance(left) - distance(right))[0] ?? []
    return flatten(nearest).map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
  })
}

/** The distance of a value of the wrong type: greater than any number of problems within the right type. */
const ANOTHER_KIND_DISTANCE = 1_000

function distance(issues: readonly z.core.$ZodIssue[]): number {
  const isAnotherKind = issues.some((issue) => issue.code === 'invalid_type' && issue.path.length === 0)
  return issues.length + (isAnotherKind ? ANOTHER_KIND_DISTANCE : 0)
}

function fieldName(issue: z.core.$ZodIssue): string {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : issue.path
  const name = path.reduce<string>(
    (text, part) =>
      typeof part === 'number'
        ? `${text}[${String(part)}]`
        : text === ''
          ? String(part)
          : `${text}.${String(part)}`,
    ''
  )
  return name === '' ? 'body' : name
}
