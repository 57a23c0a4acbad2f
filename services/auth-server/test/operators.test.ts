import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  callUnary,
  createClient,
  isRpcError,
  readStream,
  type ServiceDefinition,
  status
} from '@open-payments-server/grpc-transport'
import { auth, events } from '@open-payments-server/proto'
import { createLogger, Lifecycle, systemClock } from '@open-payments-server/runtime'
import { openIssuerKeys } from '@open-payments-server/service-kit/issuers'
import { openOperators } from '@open-payments-server/service-kit/operators'
import { startTestIssuer, type TestIssuer } from '@open-payments-server/testing'
import { GrpcFixture, SHOP, spending } from './support/grpc-fixture.js'

const logger = createLogger({ service: 'test', level: 'silent' })
const lifecycle = new Lifecycle(logger)
const MARKET = 'https://wallet.example/market'
let issuer: TestIssuer
let server: GrpcFixture

beforeAll(async () => {
  issuer = await startTestIssuer(systemClock, 'console')
  const config = {
    ENVIRONMENT: 'development' as const,
    OPERATOR_ISSUERS: JSON.stringify([
      {
        issuer: issuer.issuer,
        clientIds: ['console'],
        rolesClaim: 'groups',
        roles: { operator: ['operations'] }
      }
    ])
  }
  const keys = openIssuerKeys({ config, clock: systemClock, logger, lifecycle })
  server = await GrpcFixture.start({
    openOperators: () => openOperators({ config, clock: systemClock }, keys)
  })
  for (const clientWalletAddress of [SHOP, MARKET])
    await server.grant({ access: [spending()], clientWalletAddress })
})
afterAll(async () => {
  await server.stop()
  await lifecycle.stop()
  await issuer.stop()
})

/** Settings of a client that sends a token with every call. */
const channel = (token: string) => ({
  target: server.address,
  deadlineMs: 20_000,
  retriesMax: 0,
  messageBytesMax: 1 << 20,
  metadata: { 'operator-token': token }
})

/** The call with the emptiest request that its method takes. */
async function codeOf(
  client: InstanceType<
    | typeof auth.GrantOperatorServiceClient
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

describe('operators of the auth server', () => {
  it('are asked who they are in every call', async () => {
    const grants = createClient(auth.GrantOperatorServiceClient, channel('x'))
    const told = createClient(events.EventServiceClient, channel('x'))
    const webhooks = createClient(events.WebhookServiceClient, channel('x'))
    const services = [
      [grants, auth.GrantOperatorServiceService],
      [told, events.EventServiceService],
      [webhooks, events.WebhookServiceService]
    ] as const
    const codes: Record<string, string> = {}
    for (const [client, definition] of services)
      for (const name of Object.keys(definition)) codes[name] = await codeOf(client, definition, name)
    expect(Object.keys(codes).length).toBeGreaterThan(15)
    expect(codes).toEqual(Object.fromEntries(Object.keys(codes).map((name) => [name, 'UNAUTHENTICATED'])))
    for (const [client] of services) client.close()
  })

  it('are recorded as the people they are', async () => {
    const token = await issuer.idToken({ sub: 'olga-7', name: 'Olga', groups: ['operations'] })
    const olga = createClient(auth.GrantOperatorServiceClient, channel(token))
    const request = { client: MARKET, reason: 'stolen key' }
    const { client } = await callUnary(olga, 'freezeClient', request, { idempotent: true })
    expect(client?.frozenBy).toBe(`olga-7 at ${issuer.issuer} (Olga)`)
    olga.close()
  })

  it('act only with the role', async () => {
    const token = await issuer.idToken({ sub: 'vera-8', groups: ['support'] })
    const vera = createClient(auth.GrantOperatorServiceClient, channel(token))
    const request = { client: SHOP, reason: '' }
    await expect(callUnary(vera, 'freezeClient', request, { idempotent: true })).rejects.toMatchObject({
      code: status.PERMISSION_DENIED
    })
    const { clients } = await callUnary(
      server.operator,
      'listFrozenClients',
      { pageSize: 0, pageToken: '', client: '' },
      { idempotent: true }
    )
    expect(clients.map(({ client }) => client?.walletAddress)).toEqual([MARKET])
    vera.close()
  })
})
