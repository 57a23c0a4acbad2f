import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingPayment } from '@interledger/open-payments'
import { signRequest } from '@open-payments-server/http-signatures/sign'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import pc from 'picocolors'
import type { StackClient } from '../stack/stack-file.js'
import type { Storyteller } from './printing.js'

const MS_PER_SECOND = 1_000

/** An event of an incoming payment, as a client that follows it is told. */
export interface PaymentEvent {
  /** Such as `incoming_payment.completed`. */
  readonly type: string
  /** The payment as it was then. */
  readonly payment: IncomingPayment
}

/** Follows an incoming payment with a token that may read it. The events end when the payment has ended, or time is up. */
export type FollowPayment = (url: string, accessToken: string) => Promise<AsyncIterable<PaymentEvent>>

/**
 * Follows payments as one of the stack's clients, with Server-Sent Events. The official client library does not offer that, so
 * its request is signed here.
 *
 * @param withinMs how long a payment is followed at most, in milliseconds
 */
export function createFollowPayment(
  client: StackClient,
  story: Storyteller,
  withinMs: number
): FollowPayment {
  return async (url, accessToken) => {
    const asked = { accept: 'text/event-stream', authorization: `GNAP ${accessToken}` }
    const privateKey = createPrivateKey(await readFile(client.privateKeyFile, 'utf8'))
    const signed = signRequest(
      { method: 'GET', targetUri: url, headers: asked, body: undefined },
      { privateKey, keyId: client.keyId, createdSeconds: Math.floor(Date.now() / MS_PER_SECOND) }
    )
    story.sent('GET', url)
    story.note(`  ${pc.dim(`Accept: ${asked.accept}`)}`)
    const signal = AbortSignal.timeout(withinMs)
    const answer = await fetch(url, { headers: { ...asked, ...signed }, signal })
    story.answered(answer.status)
    if (answer.status !== 200 || answer.body === null) throw new Error('the payment cannot be followed')
    return readEvents(answer.body)
  }
}

async function* readEvents(body: ReadableStream<Uint8Array>): AsyncIterable<PaymentEvent> {
  const messages = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { event, data } of messages)
    yield { type: event ?? 'message', payment: JSON.parse(data) as IncomingPayment }
}
