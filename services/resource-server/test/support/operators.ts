import {
  callUnary,
  createClient,
  isRpcError,
  type RequestOf,
  type ResponseOf,
  status,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { events, operators, wallet } from '@open-payments-server/proto'
import { RunningTestClock, startTestIssuer, type TestIssuer } from '@open-payments-server/testing'
import { type PaymentWorld, startPaymentWorld } from './payment-world.js'

type Wallets = wallet.WalletOperatorServiceClient
type Peers = wallet.PeerServiceClient
type Webhooks = events.WebhookServiceClient
type Actions = operators.OperatorActionServiceClient

/** A person who operates. */
export interface TestOperator {
  /** As acts name them. */
  readonly key: string
  wallets<Name extends UnaryMethodName<Wallets>>(
    method: Name,
    request: RequestOf<Wallets, Name>
  ): Promise<ResponseOf<Wallets, Name>>
  peers<Name extends UnaryMethodName<Peers>>(
    method: Name,
    request: RequestOf<Peers, Name>
  ): Promise<ResponseOf<Peers, Name>>
  webhooks<Name extends UnaryMethodName<Webhooks>>(
    method: Name,
    request: RequestOf<Webhooks, Name>
  ): Promise<ResponseOf<Webhooks, Name>>
  actions<Name extends UnaryMethodName<Actions>>(
    method: Name,
    request: RequestOf<Actions, Name>
  ): Promise<ResponseOf<Actions, Name>>
}

/** The resource server with people who operate. */
export interface OperatedWorld extends PaymentWorld {
  readonly issuer: TestIssuer
  /** Signs somebody in who has these roles, and whose token is good for ten minutes. Elsewhere than at the console they have another `sub`. */
  signIn(name: string, roles: readonly string[], client?: 'console' | 'command-line'): Promise<TestOperator>
  /** Whoever has no token. */
  machine(): TestOperator
}

/** Starts the resource server with an issuer of operators' tokens. */
export async function startOperatedWorld(settings: Record<string, string> = {}): Promise<OperatedWorld> {
  const clock = new RunningTestClock()
  const issuer = await startTestIssuer(clock, 'console')
  const world = await startPaymentWorld({
    settings: {
      OPERATOR_ISSUERS: JSON.stringify([
        {
          issuer: issuer.issuer,
          clientIds: ['console', 'command-line'],
          personClaim: 'oid',
          rolesClaim: 'groups',
          roles: { viewer: ['viewer'], operator: ['operator'], approver: ['approver'] }
        }
      ]),
      ...settings
    },
    overrides: { clock }
  })
  // Clients sign by the clock of the world, and nothing is remembered of nonces that were used before the service began.
  world.clock.set(clock.now())
  const closing: { close(): void }[] = []
  const operatorOf = (key: string, metadata: Record<string, string>): TestOperator => {
    const channel = {
      target: `127.0.0.1:${String(world.server.grpcPort)}`,
      deadlineMs: 20_000,
      retriesMax: 0,
      messageBytesMax: 1 << 20,
      metadata
    }
    const wallets = createClient(wallet.WalletOperatorServiceClient, channel)
    const peers = createClient(wallet.PeerServiceClient, channel)
    const webhooks = createClient(events.WebhookServiceClient, channel)
    const actions = createClient(operators.OperatorActionServiceClient, channel)
    closing.push(wallets, peers, webhooks, actions)
    return {
      key,
      wallets: (method, request) => callUnary(wallets, method, request, { idempotent: false }),
      peers: (method, request) => callUnary(peers, method, request, { idempotent: false }),
      webhooks: (method, request) => callUnary(webhooks, method, request, { idempotent: false }),
      actions: (method, request) => callUnary(actions, method, request, { idempotent: false })
    }
  }
  return {
    ...world,
    clock,
    issuer,
    async signIn(name, roles, client = 'console') {
      const oid = `${name}-7`
      const sub = client === 'console' ? oid : `${name}-at-${client}`
      const token = await issuer.idToken({ aud: client, sub, oid, name, groups: roles })
      return operatorOf(`${oid} at ${issuer.issuer}`, { 'operator-token': token })
    },
    machine: () => operatorOf('development', {}),
    async stop() {
      for (const client of closing) client.close()
      await world.stop()
      await issuer.stop()
    }
  }
}

/** What a call was refused with: its code and field, or its message where it has no field. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'nothing was refused'
  } catch (error) {
    if (!isRpcError(error)) throw error
    return `${status[error.code]} ${error.field ?? error.message}`
  }
}

/** The proposal that a call ended with. */
export async function proposalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
  } catch (error) {
    if (isRpcError(error, status.FAILED_PRECONDITION) && error.reference !== undefined) return error.reference
    throw error
  }
  throw new Error('nothing was proposed')
}
