import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

/** An event as an endpoint gets it. */
export interface ReceivedEvent {
  readonly id: string
  readonly type: string
  readonly time: string
  readonly subject: string
  readonly sequence: number
  readonly data: Readonly<Record<string, unknown>> | null
}

/** How an endpoint answers: a status, or whatever it likes. */
export type Answering = number | ((response: ServerResponse, event: ReceivedEvent) => void)

/** An endpoint of a test. */
export interface WebhookReceiver {
  readonly url: string
  /** All events that were posted here, in order, whatever the answer. */
  readonly posted: readonly ReceivedEvent[]
  /** Those that were answered 2xx. */
  readonly taken: readonly ReceivedEvent[]
  readonly headers: readonly IncomingMessage['headers'][]
  /** Verifies each message from now on; one that cannot be verified is answered 401. */
  secret: string | undefined
  /** How it answers from now on; 204 unless set. */
  answering: Answering
  /** Waits until so many events were taken, or what else the caller waits for. */
  when(isSo: (receiver: WebhookReceiver) => boolean): Promise<void>
  stop(): Promise<void>
}

/** Starts an endpoint on this machine. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const posted: ReceivedEvent[] = []
  const taken: ReceivedEvent[] = []
  const headers: IncomingMessage['headers'][] = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const event = JSON.parse(body) as ReceivedEvent
      headers.push(request.headers)
      posted.push(event)
      const { secret, answering } = receiver
      if (secret !== undefined && !isVerified(secret, body, request)) response.writeHead(401).end()
      else if (typeof answering === 'function') answering(response, event)
      else response.writeHead(answering).end()
      if (response.statusCode < 300 && response.headersSent) taken.push(event)
      for (const check of waiting) check()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hooks`,
    posted,
    taken,
    headers,
    secret: undefined,
    answering: 204,
    when: (isSo) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!isSo(receiver)) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => {
          resolve()
        })
      })
  }
  return receiver
}

function isVerified(secret: string, body: string, request: IncomingMessage): boolean {
  try {
    new Webhook(secret).verify(body, request.headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
