import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { type End, type EndReservation, mustHaveEnded, readRelease, readSettle } from '../../domain/ends.js'
import { answerEach } from '../../domain/many.js'
import { invalidField } from '../../grpc/request-fields.js'
import type { EndReservations } from './service.js'

/** What the call needs. */
export interface EndManyDependencies {
  readonly endReservations: EndReservations
  /** Ends one. */
  readonly end: EndReservation
  readonly logger: Logger
}

/** `GrantLimitsService.EndMany`. */
export function createEndManyRpc({
  endReservations,
  end,
  logger
}: EndManyDependencies): UnaryHandler<auth.EndManyRequest, auth.EndManyResponse> {
  return async ({ requests }) => {
    const outcomes = await answerEach(requests, {
      read: readEnd,
      together: endReservations,
      alone: end,
      answer: (outcome): auth.EndResult['outcome'] => {
        mustHaveEnded(outcome)
        return { $case: 'ended', value: {} }
      },
      logger
    })
    return { results: outcomes.map((outcome) => ({ outcome })) }
  }
}

function readEnd({ end }: auth.EndRequest): End {
  switch (end?.$case) {
    case 'settle':
      return readSettle(end.value)
    case 'release':
      return readRelease(end.value)
    case undefined:
      throw invalidField('end', 'must be given')
  }
}
