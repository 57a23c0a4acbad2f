import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OperatorClient } from '@open-payments-server/operator-cli'
import { Webhook } from 'standardwebhooks'

const LOOPBACK = '127.0.0.1'

/** An event that was posted and verified. */
export interface VerifiedEvent {
  readonly id: string
  readonly type: string
  readonly subject: string
}

/** The systems of bob's provider, which are told when bob was paid. */
export interface Provider {
  /** Resolves with the event of this incoming payment. */
  told(incomingPayment: string): Promise<VerifiedEvent>
  stop(): Promise<void>
}

/** Registers an endpoint for what bob receives, and listens. */
export async function startProvider(operator: OperatorClient, walletAddress: string): Promise<Provider> {
  const events: VerifiedEvent[] = []
  const waiting = new Set<() => void>()
  const server = createServer()
  server.listen(0, LOOPBACK)
  await once(server, 'listening')
  const url = `http://${LOOPBACK}:${String((server.address() as AddressInfo).port)}/`
  const types = ['incoming_payment.completed']
  const endpoint = await operator.webhooks.create('resource-server', {
    url,
    types,
    walletAddress,
    secret: undefined
  })
  const webhook = new Webhook(endpoint.secret)
  server.on('request', (request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const event = verified(webhook, Buffer.concat(chunks).toString('utf8'), request)
      response.writeHead(event === undefined ? 401 : 204).end()
      if (event !== undefined) events.push(event)
      for (const check of waiting) check()
    })
  })
  return {
    told: (incomingPayment) =>
      new Promise((resolve) => {
        const check = (): void => {
          const event = events.find(({ subject }) => subject === incomingPayment)
          if (event !== undefined) resolve(event)
        }
        waiting.add(check)
        check()
      }),
    async stop() {
      await operator.webhooks.delete(endpoint.id)
      server.closeAllConnections()
      server.close()
    }
  }
}

function verified(webhook: Webhook, body: string, request: IncomingMessage): VerifiedEvent | undefined {
  try {
    return webhook.verify(body, request.headers as Record<string, string>) as VerifiedEvent
  } catch {
    return undefined
  }
}
