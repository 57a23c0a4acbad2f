import type { z } from 'zod'
import { parseJsonObject, validate } from './json.js'
import { rawBody } from './read-body.js'

/** The part of a request that is needed to read its body. */
interface RequestWithBody {
  readonly body?: unknown
  get(name: 'content-type'): string | undefined
}

/**
 * Reads the body of a request, if there is one.
 *
 * @returns undefined when there is none
 * @throws Refusal as `parseJsonObject` and `validate` do, when there is one and it is wrong
 */
export function readOptionalBody<Schema extends z.ZodType>(
  request: RequestWithBody,
  schema: Schema
): z.output<Schema> | undefined {
  const body = rawBody(request)
  return body && validate(schema, parseJsonObject(body, request.get('content-type')))
}
