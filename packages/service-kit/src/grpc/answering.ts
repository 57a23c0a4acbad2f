import { isTransient } from '@open-payments-server/database'
import { RpcError, status } from '@open-payments-server/grpc-transport'

/**
 * Makes handlers answer with the errors of the contract: refusals as the service maps them, and UNAVAILABLE when the database
 * could not be reached, or gave up on a statement. Every call is idempotent, and callers retry what is unavailable.
 *
 * @param rpcErrorOf the error of the contract for a refusal; undefined for every other error
 */
export function answering(rpcErrorOf: (error: unknown) => RpcError | undefined) {
  return <Parameters extends readonly unknown[], Result>(
      handler: (...parameters: Parameters) => Promise<Result>
    ): ((...parameters: Parameters) => Promise<Result>) =>
    async (...parameters) => {
      try {
        return await handler(...parameters)
      } catch (error) {
        const refused = rpcErrorOf(error)
        if (refused !== undefined) throw refused
        if (!isTransient(error)) throw error
        throw new RpcError({ code: status.UNAVAILABLE, message: 'Service unavailable', cause: error })
      }
    }
}
