import { isTransient } from '@open-payments-server/database'
import { status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { type Logger, type ItemResult, rejected } from '@open-payments-server/runtime'
import { CallRefused } from '../domain/call-refused.js'
import { rpcErrorOf } from './answer.js'
import { invalidCallField } from '../domain/call-refused.js'

/** Maximum number of requests of one call. */
export const REQUESTS_MAX = 100

/** How the requests of one call are processed. */
export interface ManyCall<Request, Asked extends { readonly paymentId: string }, Result, Answer> {
  /** The field that contains them. */
  readonly field: string
  /** Reads one; throws the error in it. */
  readonly read: (request: Request) => Asked
  /** Processes some, each for another payment, and returns the result of each, in order. */
  readonly together: (asked: readonly Asked[]) => Promise<readonly ItemResult<Result>[]>
  /** Answers one; throws why it failed. */
  readonly answer: (result: Result, asked: Asked) => Answer
  /** Called for internal failures. */
  readonly logger: Logger
}

/** The reason why one failed. */
export interface FailureAnswer {
  readonly $case: 'failure'
  readonly value: auth.Failure
}

/**
 * Processes the requests of one call and answers each separately, in order, as if they had been called one after the other:
 * those for different payments in order, then repetitions for the same payment.
 *
 * @throws CallRefused `invalid` for more than {@link REQUESTS_MAX}. If the database could not be reached, its error is
 *   thrown unchanged, whatever was done: every request is idempotent, and so is the call.
 */
export async function answerEach<Request, Asked extends { readonly paymentId: string }, Result, Answer>(
  requests: readonly Request[],
  call: ManyCall<Request, Asked, Result, Answer>
): Promise<(Answer | FailureAnswer)[]> {
  if (requests.length > REQUESTS_MAX) {
    throw invalidCallField(call.field, `must be at most ${String(REQUESTS_MAX)}`)
  }
  const read = await Promise.allSettled(requests.map(async (request) => call.read(request)))
  const asked = read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const results = await doEach(asked, call)
  return read.map((one) => {
    if (one.status === 'rejected') return failureOf(one.reason, call.logger)
    const result = results.get(one.value)
    if (result === undefined) throw new Error('a request was not done')
    try {
      if (result.status === 'rejected') throw result.reason
      return call.answer(result.value, one.value)
    } catch (error) {
      return failureOf(error, call.logger)
    }
  })
}

/** Processes the first request for each payment together, and then, one by one, further ones for the same payment. */
async function doEach<Asked extends { readonly paymentId: string }, Result>(
  asked: readonly Asked[],
  { together }: Pick<ManyCall<never, Asked, Result, never>, 'together'>
): Promise<ReadonlyMap<Asked, ItemResult<Result>>> {
  const firstOf = new Map<string, Asked>()
  for (const one of asked) if (!firstOf.has(one.paymentId)) firstOf.set(one.paymentId, one)
  const firsts = [...firstOf.values()]
  const results = firsts.length === 0 ? [] : await together(firsts)
  const byItem = new Map(firsts.map((one, index) => [one, results[index] ?? rejected(new Error('not done'))]))
  for (const one of asked) {
    if (byItem.has(one)) continue
    const [result] = await together([one])
    byItem.set(one, result ?? rejected(new Error('not done')))
  }
  return byItem
}

/** The reason why one failed. */
function failureOf(error: unknown, logger: Logger): FailureAnswer {
  if (isTransient(error)) throw error
  if (error instanceof CallRefused) {
    const { code, message, field } = rpcErrorOf(error)
    return failure(code, message, field)
  }
  logger.error({ err: error }, 'one request of several failed')
  return failure(status.INTERNAL, 'Internal error')
}

function failure(code: status, message: string, field = ''): FailureAnswer {
  return { $case: 'failure', value: { code, message, field } }
}
