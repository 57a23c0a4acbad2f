import {
  type HttpRequest,
  type HttpResponse,
  type IncomingRequest,
  namesTag,
  readPreference,
  sendRendered
} from '@open-payments-server/http-server'
import type { AuthorizedRequest, RequestAuthorizer } from '../../domain/authorization.js'
import { invalidField } from '../../domain/errors.js'
import { readVisibleTo } from '../../domain/visibility.js'
import type { ServePayment, ShownPayment, WaitableKind } from '../waitable-payments.js'
import { type StreamDependencies, streamPayment } from './payment-stream.js'
import { untilChanged } from './waiting-request.js'

/** Maximum time that a request waits, in seconds: more is clamped. */
const WAIT_SECONDS_MAX = 60

/** A number of seconds (RFC 9110 §10.2.3). */
const WHOLE_NUMBER = /^\d+$/

/** The number of an event. */
const EVENT_ID = /^(?:0|[1-9]\d{0,17})$/

const EVENT_STREAM = 'text/event-stream'

/** What serving payments needs. */
export interface ServePaymentDependencies extends StreamDependencies {
  readonly authorizer: RequestAuthorizer<IncomingRequest>
}

/** Creates {@link ServePayment}. */
export function createServePayment(dependencies: ServePaymentDependencies): ServePayment {
  return (payments) => async (request, response) => {
    const authorized = await dependencies.authorizer.authorize(request)
    const isGet = request.method === 'GET'
    if (isGet && prefersEvents(request)) {
      const lastEventId = readLastEventId(request)
      const payment = await readVisibleTo(authorized, request.param('id'), payments)
      response.addField('Vary', varyOf(payments))
      await streamPayment({ authorized, payments, payment, lastEventId, request, response }, dependencies)
      return
    }
    const seconds = isGet ? readWaitSeconds(request) : undefined
    const payment = await readVisibleTo(authorized, request.param('id'), payments)
    const asked = { authorized, payments, payment, request, response }
    if (seconds === undefined) send(asked, payment)
    else await sendAfterWait({ ...asked, seconds }, dependencies)
  }
}

/** A request for a payment that its client may see. */
interface Asked {
  readonly authorized: AuthorizedRequest
  readonly payments: WaitableKind
  readonly payment: ShownPayment
  readonly request: HttpRequest
  readonly response: HttpResponse
}

function send({ payments, request, response }: Asked, payment: ShownPayment): void {
  const rendered = payment.render(payments.representationOf(request))
  sendRendered(request, response, rendered, { updatedAtMs: payment.updatedAtMs, vary: varyOf(payments) })
}

/** Answers once the payment is news to the client, has ended, or the time is over. */
async function sendAfterWait(
  asked: Asked & { readonly seconds: number },
  dependencies: StreamDependencies
): Promise<void> {
  const { payments, payment, request, response, seconds } = asked
  const tagOf = (one: ShownPayment): string => one.render(payments.representationOf(request)).tag
  const ifNoneMatch = request.get('if-none-match')
  const tagAtArrival = tagOf(payment)
  const isNews = (one: ShownPayment): boolean =>
    ifNoneMatch === undefined ? tagOf(one) !== tagAtArrival : !namesTag(ifNoneMatch, tagOf(one))
  const isOver = seconds === 0 || payment.endsAtMs <= dependencies.clock.now() || dependencies.room.isStopping
  let answered = payment
  if (!isOver && !isNews(payment)) {
    request.beginWait()
    answered = await untilChanged({ ...asked, isNews }, dependencies).finally(() => {
      request.endWait()
    })
  }
  response.addField('Preference-Applied', `wait=${String(seconds)}`)
  send(asked, answered)
}

function varyOf({ vary }: WaitableKind): string {
  return `${vary}, Prefer`
}

/** Whether a client prefers events to JSON: it names them. */
function prefersEvents(request: HttpRequest): boolean {
  const accept = request.get('accept')
  if (accept?.toLowerCase().includes(EVENT_STREAM) !== true) return false
  return request.accepts(['application/json', EVENT_STREAM]) === EVENT_STREAM
}

/** @throws Refusal `invalid-field` for what is no number of an event */
function readLastEventId(request: HttpRequest): bigint | undefined {
  const text = request.get('last-event-id')
  if (text === undefined) return undefined
  if (!EVENT_ID.test(text)) throw invalidField('Last-Event-ID', 'must be the id of an event of this resource')
  return BigInt(text)
}

/**
 * How long a client wants to wait (RFC 7240 §4.3).
 *
 * @returns at most {@link WAIT_SECONDS_MAX}; undefined when it does not want to
 * @throws Refusal `invalid-field` for what is no whole number
 */
function readWaitSeconds(request: HttpRequest): number | undefined {
  const text = readPreference(request.get('prefer'), 'wait')
  if (text === undefined) return undefined
  if (!WHOLE_NUMBER.test(text)) throw invalidField('Prefer', 'wait must be a whole number of seconds')
  return Math.min(Number(text), WAIT_SECONDS_MAX)
}
