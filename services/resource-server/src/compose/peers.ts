import { createEndpointClient, type PostClient } from '@open-payments-server/http-client'
import { type RunningHttpServer, startHttpServer } from '@open-payments-server/http-server'
import { createSecretBox, type SecretBox } from '@open-payments-server/runtime/secret-box'
import type { TransportMetrics } from '@open-payments-server/service-kit/metrics'
import { createPacketReceiver } from '../features/receive-packets/receive-packet.js'
import { receivePacketRoute } from '../features/receive-packets/routes.js'
import { PACKET_LIFETIME_MS } from '../features/send-packets/send.js'
import { createPeerApp } from '../http/peer-app.js'
import { createProviderAccounts } from '../modules/ledger/index.js'
import { createPeerDirectory } from '../modules/peers/index.js'
import type { Context } from './context.js'
import type { Counters } from './counters.js'
import type { DomainPorts } from './domain-ports.js'
import type { Resources } from './resources.js'
import type { Wakers } from './workers.js'

/** How long the endpoint of a peer may take to answer, in milliseconds: longer than a packet is waited for, which ends that wait itself. */
const TIMEOUT_MS = PACKET_LIFETIME_MS + 5_000
/** How long a packet may take to leave, in milliseconds: one that does not is certainly not sent, and may be sent again. */
const DEPARTURE_MS = 10_000
/** Maximum number of connections to the endpoint of a peer. */
const CONNECTIONS_PER_HOST_MAX = 64
/** Maximum number of connections of all peers. */
const CONNECTIONS_MAX = 1_000

/** Minimum length of a token that a peer presents in production, in characters: nobody guesses it. */
const INCOMING_TOKEN_LENGTH_MIN = 16

/** What reaches peers. */
export interface PeerConnections {
  readonly peerClient: PostClient
  /** Undefined without a key. */
  readonly peerSecrets: SecretBox | undefined
  /** Minimum length of a token that a peer presents here, in characters. */
  readonly incomingTokenLengthMin: number
}

/** Opens what reaches peers. */
export function openPeers({ config, lifecycle }: Context): PeerConnections {
  const isDevelopment = config.ENVIRONMENT === 'development'
  const peerClient = createEndpointClient({
    isDevelopment,
    privateNetworks: config.ILP_PRIVATE_NETWORKS,
    timeoutMs: TIMEOUT_MS,
    departureMs: DEPARTURE_MS,
    connectionsMax: CONNECTIONS_PER_HOST_MAX
  })
  lifecycle.add({ name: 'connections to peers', stop: () => peerClient.close() })
  const keys = peerSecretKeys(config)
  const use = { purpose: 'tokens of peers', owner: 'peer', setting: 'PEER_SECRET_KEY' }
  const peerSecrets = keys && createSecretBox(use, keys)
  return { peerClient, peerSecrets, incomingTokenLengthMin: isDevelopment ? 1 : INCOMING_TOKEN_LENGTH_MIN }
}

/** The master keys of what is kept for peers, the one that encrypts first; undefined without any. */
export function peerSecretKeys({
  PEER_SECRET_KEY: first,
  PEER_SECRET_KEYS_OTHER: others
}: Context['config']): readonly [string, ...string[]] | undefined {
  return first && [first.reveal(), ...(others?.reveal() ?? [])]
}

/** Starts the listener for peers; undefined without a port. */
export async function startPeerListener(
  context: Context,
  {
    resources,
    domain,
    wakers,
    counters,
    transports
  }: {
    readonly resources: Resources
    readonly domain: DomainPorts
    readonly wakers: Wakers
    readonly counters: Counters
    readonly transports: Pick<TransportMetrics<'public' | 'peers'>, 'http' | 'watchListener'> | undefined
  }
): Promise<RunningHttpServer | undefined> {
  const { config, logger } = context
  if (config.ILP_PORT === undefined) return undefined
  const peers = createPeerDirectory({ ...context, ...resources })
  const receiver = createPacketReceiver({
    ...context,
    ...resources,
    ...wakers,
    peers,
    counters,
    ilpAddress: config.ILP_ADDRESS,
    addresses: domain.paymentAddresses,
    rates: domain.termSources.rates,
    providerAccounts: createProviderAccounts()
  })
  const app = createPeerApp({
    routes: [receivePacketRoute({ peers, receiver, countPacket: counters.countPacket })],
    logger,
    requestObserver: transports?.http.peers
  })
  const server = await startHttpServer(app, {
    host: config.ILP_HOST,
    port: config.ILP_PORT,
    connectionsMax: CONNECTIONS_MAX,
    logger
  })
  transports?.watchListener('peers', server)
  logger.info({ host: config.ILP_HOST, port: server.port }, 'listener for peers listens')
  return server
}
