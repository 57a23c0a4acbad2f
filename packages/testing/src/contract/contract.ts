import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type DescribedAnswer, type Operation, readDescriptions, type Schema } from './descriptions.js'
import {
  DECIDED_ACCESS_MEMBERS,
  DECIDED_CODES,
  DECIDED_MEMBERS,
  OPERATIONAL_PATHS,
  PAGES_PATH,
  UNDESCRIBED_OPERATIONS,
  UNDESCRIBED_STATUSES
} from './differences.js'
import type { Exchange } from './exchange.js'
import { undescribedMembers } from './members.js'

/** What answers are checked against. */
export interface Contract {
  /** The errors in an answer, in words; empty when it matches the contract. */
  violations(exchange: Exchange): string[]
}

/** The one error body of both services. */
const ERROR_BODY: Schema = {
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      required: ['code', 'description'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', minLength: 1 },
        description: { type: 'string', minLength: 1 },
        details: { type: 'object', additionalProperties: true }
      }
    }
  }
}

const NOT_MODIFIED = 304
const UINT64_MAX = 2n ** 64n - 1n

/**
 * Reads the descriptions. Schemas are compiled for their first answer.
 *
 * @param files paths of our own descriptions, besides the published ones
 */
export async function loadContract(files: readonly string[] = []): Promise<Contract> {
  const operations = await readDescriptions(files)
  const validate = createValidator()
  return {
    violations(exchange) {
      const path = pathOf(exchange.url)
      if (OPERATIONAL_PATHS.includes(path) && ['GET', 'HEAD'].includes(exchange.method)) return []
      const operation = findOperation(operations, exchange.method, path)
      const { status, text } = exchange
      // Answers to HEAD, and 304, have no body.
      if (exchange.method === 'HEAD' || status === NOT_MODIFIED) {
        return text === '' ? [] : ['there is a body where none may be']
      }
      const found =
        operation === undefined
          ? undescribedPath(exchange, validate)
          : describedPath(exchange, operation, validate)
      return found.map((violation) => `${operation?.name ?? 'no operation'}: ${violation}`)
    }
  }
}

type Validate = (schema: Schema, value: unknown) => string[]

/** If nothing is described, nothing exists: every answer must be an error. */
function undescribedPath(exchange: Exchange, validate: Validate): string[] {
  const { method, status, url } = exchange
  const path = pathOf(url)
  if (status < 400) {
    return UNDESCRIBED_OPERATIONS.has(`${method} ${path}`)
      ? []
      : [`${method} ${path} is not described, and answered with ${String(status)}`]
  }
  return isErrorPage(exchange, path) ? [] : errorViolations(exchange, validate)
}

function isErrorPage(exchange: Exchange, path: string): boolean {
  const asksForPage = exchange.accept?.includes('text/html') === true
  return path.startsWith(PAGES_PATH) && asksForPage && mediaTypeOf(exchange) === 'text/html'
}

function describedPath(exchange: Exchange, operation: Operation, validate: Validate): string[] {
  const { status } = exchange
  const described = operation.answers.get(status)
  // Where pages for people are described, an error may be one.
  const isPage = described?.mediaTypes.includes(mediaTypeOf(exchange)) === true && !isJson(exchange)
  const ofError = status >= 400 && !isPage ? errorViolations(exchange, validate) : []
  if (described === undefined) {
    return UNDESCRIBED_STATUSES.has(status) ? ofError : [`status ${String(status)} is not described`]
  }
  return [
    ...ofError,
    ...headerViolations(exchange, described),
    ...bodyViolations(exchange, operation, described, validate)
  ]
}

function headerViolations({ header }: Exchange, { headers }: DescribedAnswer): string[] {
  return headers.flatMap(({ name, pattern }) => {
    const value = header(name)
    if (value === null) return [`header ${name} is missing`]
    return pattern.test(value) ? [] : [`header ${name} is ${value}`]
  })
}

function bodyViolations(
  exchange: Exchange,
  operation: Operation,
  described: DescribedAnswer,
  validate: Validate
): string[] {
  const { schema, mediaTypes } = described
  // A redirect may mention its target in a body (RFC 9110 §15.4).
  if (mediaTypes.length === 0 && exchange.status >= 300) return []
  if (mediaTypes.length === 0) return exchange.text === '' ? [] : ['there is a body, and none is described']
  if (exchange.text === '' && described.mayBeEmpty) return []
  if (!mediaTypes.includes(mediaTypeOf(exchange))) return [`the body is ${mediaTypeOf(exchange)}`]
  if (schema === undefined || !isJson(exchange)) return []
  const body = parse(exchange.text)
  // The members of an error are defined once, for all errors.
  if (exchange.status >= 400) {
    return hasDecidedCode(exchange, operation, body) ? [] : validate(schema, body)
  }
  const decided = withoutDecided(exchange, operation, body)
  return [
    ...validate(schema, decided),
    ...undescribedMembers(schema, decided).map((member) => `${member} is not described`)
  ]
}

function errorViolations(exchange: Exchange, validate: Validate): string[] {
  if (!isJson(exchange)) return [`the error is ${mediaTypeOf(exchange)}`]
  return validate(ERROR_BODY, parse(exchange.text)).map((violation) => `error body: ${violation}`)
}

/** Whether an error has a code that deliberately differs from the description. */
function hasDecidedCode({ status }: Exchange, { name }: Operation, body: unknown): boolean {
  const { error } = { error: undefined, ...(body as { error?: { code?: unknown } } | undefined) }
  return DECIDED_CODES.some(
    ({ operations, statuses, code }) =>
      operations.includes(name) && statuses.includes(status) && code === error?.code
  )
}

/** The body without the members that deliberately differ, including those of a list's items, and of a token's access. */
function withoutDecided(exchange: Exchange, { name }: Operation, body: unknown): unknown {
  const decided = new Set(
    DECIDED_MEMBERS.filter(
      ({ operations, when }) => operations.includes(name) && (when === undefined || when(exchange))
    ).map((member) => member.name)
  )
  const strip = (value: unknown): unknown => without(value, decided)
  if (isObject(body) && isObject(body.access_token) && Array.isArray(body.access_token.access)) {
    const access = body.access_token.access.map((item: unknown) =>
      without(item, new Set(isObject(item) ? DECIDED_ACCESS_MEMBERS[String(item.type)] : []))
    )
    return strip({ ...body, access_token: { ...body.access_token, access } })
  }
  if (isObject(body) && Array.isArray(body.result)) {
    return { ...body, result: body.result.map(strip) }
  }
  return strip(body)
}

function without(value: unknown, members: ReadonlySet<string>): unknown {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([member]) => !members.has(member)))
    : value
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function createValidator(): Validate {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addFormat('uint64', { type: 'string', validate: isUint64 })
  const compiled = new Map<Schema, ValidateFunction>()
  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile(schema)
    compiled.set(schema, validate)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath === '' ? 'the body' : instancePath, message, JSON.stringify(params)].join(' ')
    )
  }
}

function isUint64(value: string): boolean {
  return /^(?:0|[1-9]\d{0,19})$/.test(value) && BigInt(value) <= UINT64_MAX
}

function findOperation(
  operations: readonly Operation[],
  method: string,
  path: string
): Operation | undefined {
  const asked = method === 'HEAD' ? 'GET' : method
  return operations.find((operation) => operation.method === asked && operation.path.test(path))
}

function pathOf(url: string): string {
  return new URL(url, 'http://localhost').pathname
}

function isJson(exchange: Exchange): boolean {
  return mediaTypeOf(exchange) === 'application/json'
}

function mediaTypeOf({ header }: Exchange): string {
  return (header('content-type') ?? 'no media type').split(';')[0]?.trim().toLowerCase() ?? ''
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A body that is not JSON matches no schema.
    return undefined
  }
}
