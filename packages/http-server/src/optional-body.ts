import type { z } from 'zod'
import { type BadRequestCode, parseJsonObject, validate } from './json.js'
import { rawBody } from './read-body.js'

/** As much of a request as its body takes. */
interface RequestWithBody {
  readonly body?: unknown
  get(name: 'content-type'): string | undefined
}

/**
 * Reads the body of a request that may come without one.
 *
 * @returns undefined when there is none
 * @throws PublicError as `parseJsonObject` and `validate` do, when there is one and it is wrong
 */
export function readOptionalBody<Schema extends z.ZodType>(
  request: RequestWithBody,
  schema: Schema,
  code: BadRequestCode
): z.output<Schema> | undefined {
  const body = rawBody(request)
  return body && validate(schema, parseJsonObject(body, request.get('content-type'), code), code)
}
