import { RpcError, status } from '@open-payments-server/grpc-transport'

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
