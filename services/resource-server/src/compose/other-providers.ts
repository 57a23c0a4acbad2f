import { createSafeHttpClient } from '@open-payments-server/http-client'
import { createSenderClock } from '@open-payments-server/interledger'
import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import { createSecretBox } from '@open-payments-server/runtime/secret-box'
import type { OutgoingMethod } from '../domain/outgoing-method.js'
import type { SentPacketCounters } from '../domain/packet-counters.js'
import { readSigningKeys } from '../domain/signing-keys.js'
import { PATHLESS_WALLET_ADDRESS } from '../domain/wallet-address.js'
import { LEASE_MS } from '../features/process-outgoing-payments/send-payments.js'
import { createInterledgerMethod } from '../features/send-packets/interledger-method.js'
import { createTroubleLog } from '../features/send-packets/peer-troubles.js'
import { createGrantStore } from '../modules/provider-grants/index.js'
import {
  type ClientIdentity,
  createClientIdentity,
  createReceiverReader,
  type ReceiverReader
} from '../other-providers/index.js'
import type { Context } from './context.js'
import type { DomainPorts } from './domain-ports.js'
import { peerSecretKeys, type PeerConnections } from './peers.js'
import type { Resources } from './resources.js'

/** How long one request to another provider may take, in milliseconds: less than half of all that reading a receiver takes. */
const TIMEOUT_MS = 2_000
/** Maximum size of a document of another provider, in bytes. */
const DOCUMENT_BYTES_MAX = 65_536
/** Maximum number of connections to one provider. */
const CONNECTIONS_PER_HOST_MAX = 32

/** How receivers at other providers are paid. */
export interface OtherProviders {
  /** Undefined without the settings that it takes. */
  readonly outgoingMethod: OutgoingMethod | undefined
  /** Undefined without the same settings. */
  readonly receiverReader: ReceiverReader | undefined
  /** This provider as a client of others; undefined without keys. */
  readonly clientIdentity: ClientIdentity | undefined
}

/**
 * Opens what other providers are asked with.
 *
 * @throws ConfigurationError for keys that are none
 */
export async function openOtherProviders(
  context: Context,
  { database }: Pick<Resources, 'database'>,
  { termSources, urls }: DomainPorts,
  { peerClient, peerSecrets, counters }: PeerConnections & { readonly counters: SentPacketCounters }
): Promise<OtherProviders> {
  const { config, lifecycle, clock } = context
  const identity = await readIdentity(config.PROVIDER_KEYS?.reveal(), urls.base)
  const keys = peerSecretKeys(config)
  if (identity === undefined || peerSecrets === undefined || keys === undefined) {
    return { outgoingMethod: undefined, receiverReader: undefined, clientIdentity: identity }
  }
  const http = createSafeHttpClient({
    allowPrivateNetworks: config.ENVIRONMENT === 'development',
    timeoutMs: TIMEOUT_MS,
    bodyBytesMax: DOCUMENT_BYTES_MAX,
    userAgent: 'open-payments-server',
    connectionsMax: CONNECTIONS_PER_HOST_MAX
  })
  lifecycle.add({ name: 'connections to other providers', stop: () => http.close() })
  const secrets = createSecretBox(
    { purpose: 'grants at other providers', owner: 'provider', setting: 'PEER_SECRET_KEY' },
    keys
  )
  const receiverReader = createReceiverReader({
    ...context,
    http,
    identity,
    store: createGrantStore({ database, secrets, clock })
  })
  const outgoingMethod = createInterledgerMethod({
    ...context,
    database,
    receivers: receiverReader,
    termSources,
    peerClient,
    peerSecrets,
    counters,
    logTrouble: createTroubleLog(context.logger),
    clock: createSenderClock(clock),
    slippageBasisPoints: config.ILP_SLIPPAGE_BASIS_POINTS,
    leaseMs: LEASE_MS
  })
  return { outgoingMethod, receiverReader, clientIdentity: identity }
}

async function readIdentity(
  text: string | undefined,
  publicUrl: string
): Promise<ClientIdentity | undefined> {
  if (text === undefined) return undefined
  try {
    const keys = await readSigningKeys(text)
    return createClientIdentity({ walletAddress: `${publicUrl}${PATHLESS_WALLET_ADDRESS}`, keys })
  } catch (error) {
    throw new ConfigurationError([`PROVIDER_KEYS: ${error instanceof Error ? error.message : 'not valid'}`])
  }
}
