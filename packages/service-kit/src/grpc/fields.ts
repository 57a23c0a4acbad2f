import { RpcError, status } from '@open-payments-server/grpc-transport'

/** First instant that the database reads, in milliseconds since 1970. */
const INSTANT_MIN_MS = Date.parse('0001-01-01T00:00:00Z')
const INSTANT_MAX_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** The refusal of a malformed field. */
export function invalidField(field: string, problem: string): RpcError {
  return new RpcError({ code: status.INVALID_ARGUMENT, message: `${field} ${problem}`, field })
}

/**
 * Reads types of events, each once.
 *
 * @param known all that the service tells of
 * @throws RpcError INVALID_ARGUMENT for another
 */
export function readEventTypes(
  types: readonly string[],
  field: string,
  known: ReadonlySet<string>
): readonly string[] {
  types.forEach((type, index) => {
    if (!known.has(type))
      throw invalidField(`${field}[${String(index)}]`, 'must be a type of event of this service')
  })
  return [...new Set(types)]
}

/**
 * Reads an instant.
 *
 * @returns milliseconds since 1970; undefined where there is none
 * @throws RpcError INVALID_ARGUMENT for one that the database does not read
 */
export function readInstant(instant: Date | undefined, field: string): number | undefined {
  const ms = instant?.getTime()
  // Not a number is in no range.
  if (ms === undefined || (ms >= INSTANT_MIN_MS && ms <= INSTANT_MAX_MS)) return ms
  throw invalidField(field, 'must be an instant of the years 1 to 9999')
}
