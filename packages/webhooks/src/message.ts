import type { ToldEvent } from '@open-payments-server/events'
import { Webhook } from 'standardwebhooks'

/** A message, ready to be posted. */
export interface WebhookMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What is told of an event. */
export type MessageContent = Pick<
  ToldEvent,
  'id' | 'type' | 'occurredAtMs' | 'subject' | 'data' | 'traceParent'
> & {
  /** The number of the event; 0 of a test. */
  readonly number: bigint
}

/**
 * Signs a message (Standard Webhooks).
 *
 * @param secrets each signs: the endpoint's, and while it rotates the one before
 * @param nowMs the time of the attempt, which is signed too, so that an old message cannot be sent again
 */
export function signMessage(
  content: MessageContent,
  secrets: readonly string[],
  nowMs: number
): WebhookMessage {
  const body = JSON.stringify({
    id: content.id,
    type: content.type,
    time: new Date(content.occurredAtMs).toISOString(),
    subject: content.subject,
    sequence: Number(content.number),
    traceparent: content.traceParent,
    data: content.data
  })
  const now = new Date(nowMs)
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': content.id,
      'webhook-timestamp': String(Math.floor(nowMs / 1_000)),
      'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(content.id, now, body)).join(' ')
    },
    body
  }
}
