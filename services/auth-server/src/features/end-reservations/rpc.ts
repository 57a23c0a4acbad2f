import type { UnaryContext, UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { answerEach } from '../../domain/many.js'
import { invalidField } from '../../domain/request-fields.js'

/** The calls that end one reservation. */
export interface EndRpcs {
  readonly settle: UnaryHandler<auth.SettleRequest, auth.SettleResponse>
  readonly release: UnaryHandler<auth.ReleaseRequest, auth.ReleaseResponse>
}

/** `GrantLimitsService.EndMany`. */
export function createEndManyRpc(
  rpcs: EndRpcs,
  logger: Logger
): UnaryHandler<auth.EndManyRequest, auth.EndManyResponse> {
  return async ({ requests }, context) => {
    const answer = async (request: auth.EndRequest): Promise<auth.EndResult['outcome']> => {
      await end(request, rpcs, context)
      return { $case: 'ended', value: {} }
    }
    const outcomes = await answerEach(requests, answer, logger)
    return { results: outcomes.map((outcome) => ({ outcome })) }
  }
}

function end(
  { end: how }: auth.EndRequest,
  { settle, release }: EndRpcs,
  context: UnaryContext
): Promise<unknown> {
  switch (how?.$case) {
    case 'settle':
      return settle(how.value, context)
    case 'release':
      return release(how.value, context)
    case undefined:
      throw invalidField('end', 'must be given')
  }
}
