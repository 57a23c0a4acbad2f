import { type Amount, parseAmountValue } from '@open-payments-server/amounts'
import {
  callUnary,
  isRpcError,
  type RequestOf,
  type ResponseOf,
  status,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type {
  CallOptions,
  EndOutcome,
  GrantLimits,
  RefusalReason,
  Reservation,
  ReservationOutcome,
  ReservationRequest,
  SpentAmounts
} from '../../domain/ports.js'
import { failureOf, fromAmountMessage, toAmountMessage } from './messages.js'

type Client = auth.GrantLimitsServiceClient

/** Grant limits over gRPC. Every call of this service may be repeated, so each is tried again on UNAVAILABLE. */
export function createGrantLimits(client: Client): GrantLimits {
  const call = <Name extends UnaryMethodName<Client>>(
    method: Name,
    request: RequestOf<Client, Name>,
    options: CallOptions = {}
  ): Promise<ResponseOf<Client, Name>> =>
    callUnary(client, method, request, {
      idempotent: true,
      deadline: options.deadlineMs === undefined ? undefined : new Date(options.deadlineMs),
      signal: options.signal
    })

  return {
    reserve: (request, options) =>
      answerOf(async () => fromReserve(await call('reserve', toReserve(request), options)), MISMATCH),
    settle: (paymentId, { debitedValue, receivedValue }, options) =>
      answerOf<EndOutcome>(async () => {
        const values = { debitedValue: debitedValue.toString(), receivedValue: receivedValue.toString() }
        await call('settle', { paymentId, ...values }, options)
        return 'ended'
      }, END_REFUSALS),
    release: (paymentId, options) =>
      answerOf<EndOutcome>(async () => {
        await call('release', { paymentId }, options)
        return 'ended'
      }, END_REFUSALS),
    getSpentAmounts: (accessToken, options) =>
      answerOf(async () => fromSpent(await call('getSpentAmounts', { accessToken }, options)), INACTIVE),
    listOpenReservations: ({ pageToken = '', ...query }, options) =>
      answerOf(async () => {
        const page = await call('listOpenReservations', { ...query, pageToken }, options)
        return {
          reservations: page.reservations.map(fromReservation),
          nextPageToken: page.nextPageToken === '' ? undefined : page.nextPageToken
        }
      }),
    listReservations: ({ afterPaymentId = '', pageSize }, options) =>
      answerOf(async () => {
        const { reservations } = await call('listReservations', { afterPaymentId, pageSize }, options)
        return reservations.map(fromReservation)
      })
  }
}

/** Refusals that are answers, by their code. */
type Answers<Answer> = ReadonlyMap<status, Answer>

const MISMATCH: Answers<ReservationOutcome> = new Map([[status.ALREADY_EXISTS, { outcome: 'mismatch' }]])
const END_REFUSALS: Answers<EndOutcome> = new Map([
  [status.NOT_FOUND, 'not-found'],
  [status.FAILED_PRECONDITION, 'ended-otherwise']
])
const INACTIVE: Answers<SpentAmounts | undefined> = new Map([
  [status.NOT_FOUND, undefined],
  [status.FAILED_PRECONDITION, undefined]
])

async function answerOf<Answer>(
  ask: () => Promise<Answer>,
  answers: Answers<Answer> = new Map()
): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (isRpcError(error) && answers.has(error.code)) return answers.get(error.code) as Answer
    throw failureOf(error)
  }
}

function toReserve(request: ReservationRequest): auth.ReserveRequest {
  return {
    ...request,
    debitAmount: toAmountMessage(request.debitAmount),
    receiveAmount: toAmountMessage(request.receiveAmount)
  }
}

function fromReserve({ outcome }: auth.ReserveResponse): ReservationOutcome {
  switch (outcome?.$case) {
    case 'reserved': {
      const { grantId, spentDebitAmount, spentReceiveAmount } = outcome.value
      return {
        outcome: 'reserved',
        grantId,
        spentDebitAmount: requiredAmount(spentDebitAmount),
        spentReceiveAmount: requiredAmount(spentReceiveAmount)
      }
    }
    case 'refused':
      return { outcome: 'refused', reason: fromReason(outcome.value.reason) }
    case undefined:
      throw new Error('the auth server answered a reservation without an outcome')
  }
}

function fromReason(reason: auth.RefusalReason): RefusalReason {
  switch (reason) {
    case auth.RefusalReason.REFUSAL_REASON_TOKEN_INACTIVE:
      return 'token-inactive'
    case auth.RefusalReason.REFUSAL_REASON_INSUFFICIENT_GRANT:
      return 'insufficient-grant'
    case auth.RefusalReason.REFUSAL_REASON_LIMIT_EXCEEDED:
      return 'limit-exceeded'
    case auth.RefusalReason.REFUSAL_REASON_OUTSIDE_INTERVAL:
      return 'outside-interval'
    case auth.RefusalReason.REFUSAL_REASON_RELEASED:
      return 'released'
    default:
      throw new Error(`the auth server refused for the unknown reason ${String(reason)}`)
  }
}

function fromSpent(response: auth.GetSpentAmountsResponse): SpentAmounts {
  return {
    debitAmount: optionalAmount(response.spentDebitAmount) ?? null,
    receiveAmount: optionalAmount(response.spentReceiveAmount) ?? null
  }
}

function fromReservation(message: auth.Reservation): Reservation {
  if (message.createTime === undefined)
    throw new Error('the auth server told of a reservation without its time')
  return {
    paymentId: message.paymentId,
    grantId: message.grantId === '' ? undefined : message.grantId,
    state: fromState(message.state),
    debitAmount: optionalAmount(message.debitAmount),
    receiveAmount: optionalAmount(message.receiveAmount),
    settledDebitValue: optionalValue(message.settledDebitValue),
    settledReceiveValue: optionalValue(message.settledReceiveValue),
    createdAtMs: message.createTime.getTime()
  }
}

function fromState(state: auth.ReservationState): Reservation['state'] {
  switch (state) {
    case auth.ReservationState.RESERVATION_STATE_OPEN:
      return 'open'
    case auth.ReservationState.RESERVATION_STATE_SETTLED:
      return 'settled'
    case auth.ReservationState.RESERVATION_STATE_RELEASED:
      return 'released'
    case auth.ReservationState.RESERVATION_STATE_REFUSED:
      return 'refused'
    default:
      throw new Error(`the auth server told of the unknown reservation state ${String(state)}`)
  }
}

function requiredAmount(message: auth.Amount | undefined): Amount {
  if (message === undefined)
    throw new Error('the auth server answered a reservation without the spent amounts')
  return fromAmountMessage(message)
}

function optionalAmount(message: auth.Amount | undefined): Amount | undefined {
  return message === undefined ? undefined : fromAmountMessage(message)
}

function optionalValue(text: string): bigint | undefined {
  return text === '' ? undefined : parseAmountValue(text)
}
