import { RpcError, status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { isTransient } from '@open-payments-server/database'
import { invalidField } from './request-fields.js'

/** Most requests of one call. */
export const REQUESTS_MAX = 100

/**
 * Does several requests of one call, and answers each by itself.
 *
 * @param requests at most {@link REQUESTS_MAX}
 * @param answer answers one, or throws why not
 * @param logger is told of failures that are ours
 * @returns one result for each, in the same order
 * @throws RpcError INVALID_ARGUMENT for too many. What the database could not be asked is thrown as it is, whichever requests
 *   were done: all of them may be repeated, so the call is.
 */
export async function answerEach<Request, Result>(
  requests: readonly Request[],
  answer: (request: Request) => Promise<Result>,
  logger: Logger
): Promise<(Result | { $case: 'failure'; value: auth.Failure })[]> {
  if (requests.length > REQUESTS_MAX) {
    throw invalidField('requests', `must be at most ${String(REQUESTS_MAX)}`)
  }
  const results = []
  for (const request of requests) {
    try {
      results.push(await answer(request))
    } catch (error) {
      if (isTransient(error)) throw error
      results.push({ $case: 'failure' as const, value: failureOf(error, logger) })
    }
  }
  return results
}

/** What the call for one request alone would have failed with. */
function failureOf(error: unknown, logger: Logger): auth.Failure {
  if (error instanceof RpcError) return { code: error.code, message: error.message, field: error.field ?? '' }
  logger.error({ err: error }, 'one request of several failed')
  return { code: status.INTERNAL, message: 'Internal error', field: '' }
}
