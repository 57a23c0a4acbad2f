import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  callUnary,
  createClient,
  isRpcError,
  readStream,
  type ServiceDefinition,
  status
} from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld()
})
afterAll(() => world.stop())

/** The call with the emptiest request that its method takes. */
async function codeOf(
  client: InstanceType<
    | typeof wallet.WalletOperatorServiceClient
    | typeof wallet.PeerServiceClient
    | typeof events.EventServiceClient
    | typeof events.WebhookServiceClient
  >,
  definition: ServiceDefinition,
  name: string
): Promise<string> {
  const method = definition[name]
  if (method === undefined) throw new Error(`there is no method ${name}`)
  const request: unknown = method.requestDeserialize(Buffer.alloc(0))
  try {
    if (method.responseStream) {
      const { signal } = new AbortController()
      await readStream(client, name as never, request as never, { signal }).next()
    } else {
      await callUnary(client, name as never, request as never, { idempotent: false })
    }
    return 'OK'
  } catch (error) {
    if (!isRpcError(error)) throw error
    return status[error.code]
  }
}

it('asks operators who they are in every call', async () => {
  const channel = {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 20_000,
    retriesMax: 0,
    messageBytesMax: 1 << 20,
    metadata: { 'operator-token': 'x' }
  }
  const services = [
    [createClient(wallet.WalletOperatorServiceClient, channel), wallet.WalletOperatorServiceService],
    [createClient(wallet.PeerServiceClient, channel), wallet.PeerServiceService],
    [createClient(events.EventServiceClient, channel), events.EventServiceService],
    [createClient(events.WebhookServiceClient, channel), events.WebhookServiceService]
  ] as const
  const codes: Record<string, string> = {}
  for (const [client, definition] of services)
    for (const name of Object.keys(definition)) codes[name] = await codeOf(client, definition, name)
  expect(Object.keys(codes).length).toBeGreaterThan(40)
  expect(codes).toEqual(Object.fromEntries(Object.keys(codes).map((name) => [name, 'UNAUTHENTICATED'])))
  for (const [client] of services) client.close()
})
