import { isTransient } from '@open-payments-server/database'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { type Logger, type Outcome, rejected } from '@open-payments-server/runtime'
import { invalidField } from './request-fields.js'

/** Most requests of one call. */
export const REQUESTS_MAX = 100

/** How the requests of one call are done. */
export interface ManyCall<Request, Asked extends { readonly paymentId: string }, Result, Answer> {
  /** The field that they come in. */
  readonly field: string
  /** Reads one; throws what is wrong with it. */
  readonly read: (request: Request) => Asked
  /** Does some, each of another payment, and says of each, in their order, what it came to. */
  readonly together: (asked: readonly Asked[]) => Promise<readonly Outcome<Result>[]>
  /** Answers one; throws why it was not done. */
  readonly answer: (result: Result, asked: Asked) => Answer
  /** Is told of failures that are ours. */
  readonly logger: Logger
}

/** Says why one was not done. */
export interface FailureAnswer {
  readonly $case: 'failure'
  readonly value: auth.Failure
}

/**
 * Does the requests of one call and answers each by itself, in their order, as if they had been asked for one after the other:
 * those of different payments in their order, then what asks for the same payment again.
 *
 * @throws RpcError INVALID_ARGUMENT for more than {@link REQUESTS_MAX}. That the database could not be asked is thrown as it
 *   is, whatever was done: every request may be repeated, and so may the call.
 */
export async function answerEach<Request, Asked extends { readonly paymentId: string }, Result, Answer>(
  requests: readonly Request[],
  call: ManyCall<Request, Asked, Result, Answer>
): Promise<(Answer | FailureAnswer)[]> {
  if (requests.length > REQUESTS_MAX) {
    throw invalidField(call.field, `must be at most ${String(REQUESTS_MAX)}`)
  }
  const read = await Promise.allSettled(requests.map(async (request) => call.read(request)))
  const asked = read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const outcomes = await doEach(asked, call)
  return read.map((one) => {
    if (one.status === 'rejected') return failureOf(one.reason, call.logger)
    const outcome = outcomes.get(one.value)
    if (outcome === undefined) throw new Error('a request was not done')
    try {
      if (outcome.status === 'rejected') throw outcome.reason
      return call.answer(outcome.value, one.value)
    } catch (error) {
      return failureOf(error, call.logger)
    }
  })
}

/** Does the first of each payment together, and then, one by one, what asks for something of the same payment again. */
async function doEach<Asked extends { readonly paymentId: string }, Result>(
  asked: readonly Asked[],
  { together }: Pick<ManyCall<never, Asked, Result, never>, 'together'>
): Promise<ReadonlyMap<Asked, Outcome<Result>>> {
  const firstOf = new Map<string, Asked>()
  for (const one of asked) if (!firstOf.has(one.paymentId)) firstOf.set(one.paymentId, one)
  const firsts = [...firstOf.values()]
  const results = firsts.length === 0 ? [] : await together(firsts)
  const outcomes = new Map(
    firsts.map((one, index) => [one, results[index] ?? rejected(new Error('not done'))])
  )
  for (const one of asked) {
    if (outcomes.has(one)) continue
    const [result] = await together([one])
    outcomes.set(one, result ?? rejected(new Error('not done')))
  }
  return outcomes
}

/** Why one was not done. */
function failureOf(error: unknown, logger: Logger): FailureAnswer {
  if (isTransient(error)) throw error
  if (error instanceof RpcError) {
    return failure(error.code, error.message, error.field)
  }
  logger.error({ err: error }, 'one request of several failed')
  return failure(status.INTERNAL, 'Internal error')
}

function failure(code: status, message: string, field = ''): FailureAnswer {
  return { $case: 'failure', value: { code, message, field } }
}
