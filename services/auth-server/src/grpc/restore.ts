import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { contentHash } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../domain/call-refused.js'
import type { LostReservation } from '../domain/limits.js'
import {
  restoreReservations,
  type RestoreResult
} from '../features/restore-reservations/restore-reservations.js'
import type { Database } from '../modules/database.js'
import { answerEach } from './answer-each.js'
import { readAmount, readAmountValue, readSha256, readUrl, readUuid } from './request-fields.js'

/** `GrantLimitsService.Restore`. */
export function restoreRpc({
  database,
  logger
}: {
  readonly database: Database
  readonly logger: Logger
}): UnaryHandler<auth.RestoreRequest, auth.RestoreResponse> {
  const call = {
    field: 'reservations',
    read: readLost,
    together: (lost: readonly LostReservation[]) => restoreReservations(lost, { database }),
    answer: toAnswer,
    logger
  }
  return async ({ reservations }) => {
    const results = await answerEach(reservations, call)
    return { results: results.map((result) => ({ result })) }
  }
}

function readLost(request: auth.LostReservation): LostReservation {
  const paymentId = readUuid(request.paymentId, 'payment_id')
  const grantId = readUuid(request.grantId, 'grant_id')
  const content = {
    walletAddress: readUrl(request.walletAddress, 'wallet_address'),
    receiver: readUrl(request.receiver, 'receiver'),
    debitAmount: readAmount(request.debitAmount, 'debit_amount'),
    receiveAmount: readAmount(request.receiveAmount, 'receive_amount'),
    requestHash: readSha256(request.requestHash, 'request_hash')
  }
  if (request.chargeTime === undefined) throw invalidCallField('charge_time', 'must be given')
  return {
    paymentId,
    grantId,
    content,
    contentHash: contentHash(content, grantId),
    chargedAtMs: request.chargeTime.getTime(),
    spent: {
      spentDebitValue: readAmountValue(request.spentDebitValue, 'spent_debit_value'),
      spentReceiveValue: readAmountValue(request.spentReceiveValue, 'spent_receive_value')
    }
  }
}

/** @throws CallRefused for every result but `restored` */
function toAnswer(result: RestoreResult): auth.RestoreResult['result'] {
  switch (result) {
    case 'restored':
      return { $case: 'restored', value: {} }
    case 'unknown-grant':
      throw new CallRefused('not-found', 'The grant is unknown', { field: 'grant_id' })
    case 'mismatch':
      throw new CallRefused('different-request', 'payment_id is recorded with other content', {
        field: 'payment_id'
      })
    case 'not-lost':
      throw notRestorable(
        'It was charged after the last failover or restore of the database, or there was none',
        'charge_time'
      )
    case 'not-allowed':
      throw notRestorable('The grant did not allow the payment then', 'grant_id')
    case 'no-room':
      throw notRestorable('The grant has no room left for the payment', 'grant_id')
    case 'released':
      throw notRestorable('The id was released', 'payment_id')
  }
}

function notRestorable(message: string, field: string): Error {
  return new CallRefused('not-restorable', message, { field })
}
