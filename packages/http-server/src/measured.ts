import { z } from 'zod'

// Zod measures whatever has a `length`, be it the text or the list that is asked for or not, and fails on one that cannot be
// compared, such as that of `{ "length": { "toString": 0 } }`. So what is measured is first looked at.

/**
 * A schema of texts, with bounds on their length.
 *
 * @param message what is said of anything that is no text; zod's own words unless given
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
