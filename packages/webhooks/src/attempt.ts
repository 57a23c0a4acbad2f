import {
  OutgoingRequestError,
  type OutgoingRequestErrorReason,
  type PostClient
} from '@open-payments-server/http-client'
import type { AttemptFailure, WebhookAttempt } from './endpoint.js'
import { type MessageContent, signMessage } from './message.js'
import { readRetryAfter } from './schedule.js'

/** Why an attempt failed, for each failure of its request. */
const FAILURES: Readonly<Record<OutgoingRequestErrorReason, AttemptFailure>> = {
  url: 'address',
  address: 'address',
  timeout: 'timeout',
  'too-large': 'too-large',
  status: 'status',
  'content-type': 'malformed',
  malformed: 'malformed',
  network: 'network',
  busy: 'network'
}

const STATUS_GONE = 410

/** What became of an attempt. */
export interface AttemptResult {
  readonly attempt: WebhookAttempt
  /** The endpoint answered that it is no more. */
  readonly isGone: boolean
  /** How long the endpoint asked to wait. */
  readonly retryAfterMs: number | undefined
}

/** Where and how a message goes. */
export interface AttemptTarget {
  readonly url: string
  readonly secrets: readonly string[]
}

/**
 * Posts an event once.
 *
 * @param signal ends the attempt, which then throws its reason: nobody knows whether it arrived
 */
export async function attemptDelivery(
  content: MessageContent,
  { url, secrets }: AttemptTarget,
  {
    client,
    now,
    signal
  }: { readonly client: PostClient; readonly now: () => number; readonly signal?: AbortSignal }
): Promise<AttemptResult> {
  const attemptedAtMs = now()
  const begunMs = performance.now()
  const attemptOf = (result: Pick<WebhookAttempt, 'status' | 'failure'>): WebhookAttempt => ({
    eventId: content.id,
    eventType: content.type,
    attemptedAtMs,
    durationMs: Math.round(performance.now() - begunMs),
    ...result
  })
  try {
    const message = signMessage(content, secrets, attemptedAtMs)
    const { status, retryAfter } = await client.post(
      url,
      signal === undefined ? message : { ...message, signal }
    )
    return {
      attempt: attemptOf({ status, failure: failureOf(status) }),
      isGone: status === STATUS_GONE,
      retryAfterMs: readRetryAfter(retryAfter, now())
    }
  } catch (error) {
    if (!(error instanceof OutgoingRequestError)) throw error
    const attempt = attemptOf({ status: error.status, failure: FAILURES[error.reason] })
    return { attempt, isGone: false, retryAfterMs: undefined }
  }
}

function failureOf(status: number): AttemptFailure | undefined {
  if (status >= 200 && status < 300) return undefined
  return status >= 300 && status < 400 ? 'redirect' : 'status'
}
