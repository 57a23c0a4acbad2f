import { createSafeHttpClient, type SafeHttpClient } from '@open-payments-server/http-client'
import type { Lifecycle } from '@open-payments-server/runtime'
import type { AuthServerConfig } from '../config.js'

/** How long a document of a client or wallet may take to be fetched. */
const FETCH_TIMEOUT_MS = 5_000
/** Longest document of a client or wallet, in bytes. */
const FETCHED_BYTES_MAX = 131_072

/** Opens what fetches the documents of clients and wallets. */
export function openHttpClient(config: AuthServerConfig, lifecycle: Lifecycle): SafeHttpClient {
  const httpClient = createSafeHttpClient({
    allowPrivateNetworks: config.ENVIRONMENT === 'development',
    timeoutMs: FETCH_TIMEOUT_MS,
    bodyBytesMax: FETCHED_BYTES_MAX,
    userAgent: 'open-payments-server',
    ownOrigins: config.WALLET_ADDRESS_ORIGINS
  })
  lifecycle.add({ name: 'HTTP client', stop: () => httpClient.close() })
  return httpClient
}
