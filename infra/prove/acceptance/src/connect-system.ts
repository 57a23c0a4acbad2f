import { randomUUID } from 'node:crypto'
import { callUnary, createClient, whenReady } from '@open-payments-server/grpc-transport'
import { auth, events, operators, wallet } from '@open-payments-server/proto'
import type { Clock } from '@open-payments-server/value-types/clock'
import {
  createSigningClient,
  createTestKey,
  type SigningClient,
  type TestKey
} from '@open-payments-server/testing'
import type { SystemPlan } from './plan-system.js'
import type { ServiceName } from './service-name.js'
import { CLIENT_NAMES } from './system-tls.js'

/** Names of the account holders and clients that every system starts with. */
export type WalletName = 'alice' | 'bob' | 'carol' | 'shop' | 'market'

/** A client of the system: a wallet address with a key, and requests signed with it. */
export interface TestClient extends SigningClient {
  readonly walletAddress: string
  readonly key: TestKey
}

/** A running system as its clients, operators and database users see it. */
export interface ConnectedSystem extends SystemPlan {
  /** What its clients sign by. */
  readonly clock: Clock
  readonly walletAddresses: Readonly<Record<WalletName, string>>
  readonly shop: TestClient
  readonly market: TestClient
  readonly operator: wallet.WalletOperatorServiceClient
  readonly peers: wallet.PeerServiceClient
  readonly grantOperator: auth.GrantOperatorServiceClient
  /** As the pages call it for account holders. */
  readonly holderGrants: auth.HolderGrantServiceClient
  readonly limits: auth.GrantLimitsServiceClient
  readonly introspection: auth.IntrospectionServiceClient
  readonly webhooks: Readonly<Record<ServiceName, events.WebhookServiceClient>>
  readonly events: Readonly<Record<ServiceName, events.EventServiceClient>>
  readonly actions: Readonly<Record<ServiceName, operators.OperatorActionServiceClient>>
  /** The actual address of a URL; with several instances, each of them in turn. */
  reach(url: string): string
  /** Where an identity provider reaches the auth server. */
  identityProviderUrl(): string
  /** Waits as long as a client must wait. */
  passSeconds(seconds: number): Promise<void>
  /** What an account holds, payments in flight included. */
  balance(name: WalletName): Promise<bigint>
  /** Runs the audit of both services; resolves to its violations. */
  audit(): Promise<string[]>
  /** Resolves once each connection is there again: a broken one pauses before it is tried anew, and calls fail meanwhile. */
  reconnected(): Promise<void>
  /** Closes the connections. The services, and their databases, are left. */
  close(): void
}

const DEADLINE_MS = 10_000
const RECONNECT_DEADLINE_MS = 30_000
const AUDIT_DEADLINE_MS = 600_000
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024
/** What alice and carol start with, in the smallest units of their assets. */
export const OPENING_BALANCE = 100_000_000n

/**
 * Connects to a system that was just started, and gives it alice and bob (USD), carol (EUR), and the clients shop and
 * market.
 */
export async function connectToSystem(
  plan: SystemPlan,
  time: { clock: Clock; passSeconds: (seconds: number) => Promise<void> }
): Promise<ConnectedSystem> {
  const channel = {
    deadlineMs: DEADLINE_MS,
    callsAreLong: true,
    retriesMax: 3,
    messageBytesMax: MESSAGE_BYTES_MAX
  }
  const asOperator = { uris: [CLIENT_NAMES.operator] }
  const asResourceServer = { uris: [CLIENT_NAMES['resource-server']] }
  const toAuthServer = {
    ...channel,
    ...(await plan.tls?.channel(asResourceServer, 'auth-server')),
    target: targetOf(plan.authServers)
  }
  const operatorToResourceServer = {
    ...channel,
    ...(await plan.tls?.channel(asOperator, 'resource-server')),
    target: targetOf(plan.resourceServers)
  }
  const operatorToAuthServer = { ...toAuthServer, ...(await plan.tls?.channel(asOperator, 'auth-server')) }
  const operator = createClient(wallet.WalletOperatorServiceClient, operatorToResourceServer)
  const peers = createClient(wallet.PeerServiceClient, operatorToResourceServer)
  const grantOperator = createClient(auth.GrantOperatorServiceClient, operatorToAuthServer)
  const webhooks = {
    'auth-server': createClient(events.WebhookServiceClient, operatorToAuthServer),
    'resource-server': createClient(events.WebhookServiceClient, operatorToResourceServer)
  }
  const eventClients = {
    'auth-server': createClient(events.EventServiceClient, operatorToAuthServer),
    'resource-server': createClient(events.EventServiceClient, operatorToResourceServer)
  }
  const actions = {
    'auth-server': createClient(operators.OperatorActionServiceClient, operatorToAuthServer),
    'resource-server': createClient(operators.OperatorActionServiceClient, operatorToResourceServer)
  }
  const holderGrants = createClient(auth.HolderGrantServiceClient, {
    ...toAuthServer,
    ...(await plan.tls?.channel({ uris: [CLIENT_NAMES.pages] }, 'auth-server'))
  })
  const limits = createClient(auth.GrantLimitsServiceClient, toAuthServer)
  const introspection = createClient(auth.IntrospectionServiceClient, toAuthServer)
  const clients = [
    ...[operator, peers, grantOperator, holderGrants, limits, introspection],
    ...[webhooks, eventClients, actions].flatMap((each) => Object.values(each))
  ]
  const reach = createReach(plan)
  const identityProviderPort = inTurn(plan.authServers.map((instance) => instance.identityProviderPort))
  return {
    ...plan,
    clock: time.clock,
    ...(await seed(operator, { clock: time.clock, connect: reach })),
    operator,
    peers,
    grantOperator,
    holderGrants,
    limits,
    introspection,
    webhooks,
    events: eventClients,
    actions,
    reach,
    identityProviderUrl: () => `http://127.0.0.1:${String(identityProviderPort())}`,
    passSeconds: time.passSeconds,
    async balance(name) {
      const { accounts } = await callUnary(
        operator,
        'listAccounts',
        wallet.ListAccountsRequest.fromPartial({ name }),
        { idempotent: true }
      )
      return BigInt(accounts[0]?.balanceValue ?? -1)
    },
    async audit() {
      const { checks } = await callUnary(operator, 'audit', wallet.AuditRequest.fromPartial({}), {
        idempotent: true,
        deadlineMs: AUDIT_DEADLINE_MS
      })
      return checks.flatMap((check) =>
        check.violations.map((violation) => `${check.invariant}: ${violation}`)
      )
    },
    async reconnected() {
      await Promise.all(clients.map((client) => whenReady(client, RECONNECT_DEADLINE_MS)))
    },
    close() {
      for (const client of clients) client.close()
    }
  }
}

function targetOf(instances: readonly { grpcPort: number }[]): string {
  return `ipv4:${instances.map(({ grpcPort }) => `127.0.0.1:${String(grpcPort)}`).join(',')}`
}

/** Returns each of some items in turn. */
function inTurn<Item>(items: readonly Item[]): () => Item {
  let next = 0
  return () => {
    const item = items[next % items.length]
    next += 1
    if (item === undefined) throw new Error('there is nothing to take in turn')
    return item
  }
}

/** Acts as a load balancer: public URLs lead to each instance in turn. */
function createReach(plan: SystemPlan): (url: string) => string {
  const routes = [
    { origin: new URL(plan.authServerUrl).origin, port: inTurn(plan.authServers.map((one) => one.httpPort)) },
    ...(plan.isBehindFront
      ? []
      : [
          {
            origin: new URL(plan.resourceServerUrl).origin,
            port: inTurn(plan.resourceServers.map((one) => one.httpPort))
          }
        ])
  ]
  return (url) => {
    const target = new URL(url)
    const route = routes.find(({ origin }) => origin === target.origin)
    if (route !== undefined) {
      // The instances themselves speak plain text, whatever ends TLS in front of them.
      target.protocol = 'http:'
      target.port = String(route.port())
    }
    return target.href
  }
}

async function seed(
  operator: wallet.WalletOperatorServiceClient,
  signing: { clock: Clock; connect: (url: string) => string }
): Promise<Pick<ConnectedSystem, 'walletAddresses' | 'shop' | 'market'>> {
  const usd = { code: 'USD', scale: 2 }
  const eur = { code: 'EUR', scale: 2 }
  const call = { idempotent: false }
  for (const asset of [usd, eur]) await callUnary(operator, 'createAsset', { asset }, call)
  const urls = new Map<WalletName, string>()
  const holders = { alice: usd, bob: usd, carol: eur, shop: usd, market: usd }
  for (const [name, asset] of Object.entries(holders) as [WalletName, typeof usd][]) {
    await callUnary(operator, 'createAccount', { name, asset }, call)
    const { walletAddress } = await callUnary(
      operator,
      'createWalletAddress',
      { path: `/${name}`, publicName: name, accountName: name },
      call
    )
    urls.set(name, walletAddress?.url ?? '')
  }
  for (const accountName of ['alice', 'carol']) {
    await callUnary(
      operator,
      'deposit',
      { depositId: randomUUID(), accountName, value: String(OPENING_BALANCE) },
      call
    )
  }
  const client = async (name: 'shop' | 'market'): Promise<TestClient> => {
    const key = createTestKey(`${name}-key`)
    const walletAddress = urls.get(name) ?? ''
    await callUnary(operator, 'addClientKey', { walletAddress, kid: key.jwk.kid, x: key.jwk.x }, call)
    const requests = createSigningClient({ keyId: key.jwk.kid, privateKey: key.privateKey, ...signing })
    return { ...requests, walletAddress, key }
  }
  const [shop, market] = [await client('shop'), await client('market')]
  return { walletAddresses: Object.fromEntries(urls) as Record<WalletName, string>, shop, market }
}
