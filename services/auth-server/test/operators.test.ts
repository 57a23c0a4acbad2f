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
import { OPERATOR_ROLES } from '../src/grpc/operator-roles.js'
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

  it('are recorded as whoever changed something, or found that it was so already, by each act', async () => {
    const client = 'https://wallet.example/kiosk'
    const { grantId } = await server.grant({ access: [spending()], clientWalletAddress: client })
    const once = { idempotent: false }
    const acts: Readonly<Record<string, () => Promise<unknown>>> = {
      freezeClient: () => callUnary(server.operator, 'freezeClient', { client, reason: '' }, once),
      unfreezeClient: () => callUnary(server.operator, 'unfreezeClient', { client, reason: '' }, once),
      revokeGrant: () => callUnary(server.operator, 'revokeGrant', { grantId }, once)
    }
    const { grants } = OPERATOR_ROLES
    const roles = Object.entries(grants).filter(([, role]) => role !== 'viewer')
    expect(Object.keys(acts).toSorted()).toEqual(roles.map(([name]) => name).toSorted())
    for (const [name, act] of Object.entries(acts)) {
      const outcomes = async (): Promise<string[]> => {
        const rows = await server.database.query<{ outcome: string }>(
          'select outcome from operator_action where lower(method) like $1 and subject = any ($2) order by outcome',
          [`%/${name.toLowerCase()}`, [client, grantId]]
        )
        return [name, ...rows.map(({ outcome }) => outcome)]
      }
      await act()
      expect(await outcomes()).toEqual([name, 'done'])
      await act()
      expect(await outcomes()).toEqual([name, 'done', 'unchanged'])
    }
  })

  it('are recorded with the one name of a client, however they call it', async () => {
    const url = 'https://wallet.example/stand'
    const thumbprint = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
    const { grantId } = await server.grant({ access: [spending()], clientWalletAddress: url })
    const once = { idempotent: false }
    await callUnary(server.operator, 'freezeClient', { client: url, reason: '' }, once)
    const spelled = { client: 'HTTPS://Wallet.Example:443/stand/', reason: '' }
    await callUnary(server.operator, 'unfreezeClient', spelled, once)
    await server.database.query(
      `update grant_request set client_wallet_address = null, client_jwk_thumbprint = $2 where id = $1`,
      [grantId, thumbprint]
    )
    await callUnary(server.operator, 'freezeClient', { client: thumbprint, reason: '' }, once)
    await callUnary(server.operator, 'unfreezeClient', { client: `jwk:${thumbprint}`, reason: '' }, once)
    const recorded = await server.database.query(
      `select method like '%/FreezeClient' as freezes, subject, outcome from operator_action
        where subject_kind = 'client' and (subject ilike '%stand%' or subject like '%' || $1) order by subject, method`,
      [thumbprint]
    )
    expect(recorded).toEqual(
      [url, `jwk:${thumbprint}`].flatMap((subject) =>
        [true, false].map((freezes) => ({ freezes, subject, outcome: 'done' }))
      )
    )
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
