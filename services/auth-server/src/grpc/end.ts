import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { CallRefused } from '../domain/call-refused.js'
import type { End, EndResult } from '../domain/ends.js'
import type { Database } from '../modules/database.js'
import { answerEach } from './answer-each.js'
import { invalidCallField } from '../domain/call-refused.js'
import { readAmountValue, readUuid } from './request-fields.js'
import { endReservations } from '../features/end-reservations/end-reservations.js'

/** `GrantLimitsService.End`. */
export function endRpc({
  database,
  logger
}: {
  readonly database: Database
  readonly logger: Logger
}): UnaryHandler<auth.EndRequest, auth.EndResponse> {
  const call = {
    field: 'ends',
    read: readEnd,
    together: (ends: readonly End[]) => endReservations(ends, { database }),
    answer: toAnswer,
    logger
  }
  return async ({ ends }) => {
    const results = await answerEach(ends, call)
    return { results: results.map((result) => ({ result })) }
  }
}

function readEnd({ paymentId: id, end }: auth.ReservationEnd): End {
  const paymentId = readUuid(id, 'payment_id')
  switch (end?.$case) {
    case 'settlement': {
      const settledDebitValue = readAmountValue(end.value.settledDebitValue, 'settled_debit_value')
      const settledReceiveValue = readAmountValue(end.value.settledReceiveValue, 'settled_receive_value')
      return { paymentId, settled: { settledDebitValue, settledReceiveValue } }
    }
    case 'release':
      return { paymentId, settled: undefined }
    case undefined:
      throw invalidCallField('end', 'must be given')
  }
}

/** @throws CallRefused for every result but `ended` */
function toAnswer(result: EndResult): auth.EndResult['result'] {
  switch (result) {
    case 'ended':
      return { $case: 'ended', value: {} }
    case 'unknown':
      throw new CallRefused('not-found', 'The payment is unknown', { field: 'payment_id' })
    case 'ended-otherwise':
      throw endedOtherwise('The reservation ended otherwise, or nothing was ever reserved')
    case 'was-settled':
      throw endedOtherwise('The reservation was settled')
    case 'more-debited-than-reserved':
      throw invalidCallField('settled_debit_value', 'must not be more than was reserved')
    case 'more-received-than-reserved':
      throw invalidCallField('settled_receive_value', 'must not be more than was reserved')
  }
}

function endedOtherwise(message: string): Error {
  return new CallRefused('ended-otherwise', message, { field: 'payment_id' })
}
