import { z } from 'zod'

// Zod measures anything with a `length`, whether it is the expected text or list or not, and fails on one that cannot be
// compared, such as that of `{ "length": { "toString": 0 } }`. So the type is checked first.

/**
 * A schema of texts, with bounds on their length.
 *
 * @param message for anything that is not a text; default: zod's message
 */
export function measuredText<Schema extends z.ZodType<unknown, string>>(
  schema: Schema,
  message?: string
): z.ZodPipe<z.ZodString, Schema> {
  return z.string(message).pipe(schema)
}

/** A schema of lists, with bounds on their length. */
export function measuredList<Schema extends z.ZodType<unknown, unknown[]>>(
  schema: Schema
): z.ZodPipe<z.ZodArray<z.ZodUnknown>, Schema> {
  return z.array(z.unknown()).pipe(schema)
}
