import { createSafeHttpClient } from '@open-payments-server/http-client'
import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { createIssuerKeys, type IssuerKeys } from './issuer-keys.js'

/** Maximum duration of fetching a document of an issuer, in milliseconds. */
const FETCH_TIMEOUT_MS = 3_000
/** Maximum size of a document of an issuer, in bytes. */
const FETCHED_BYTES_MAX = 131_072

/** What opening the keys of issuers needs. */
export interface OpenIssuerKeysOptions {
  readonly config: { readonly ENVIRONMENT: 'production' | 'development' }
  readonly clock: Clock
  readonly logger: Logger
  /** Closes the connections. */
  readonly lifecycle: Pick<Lifecycle, 'add'>
}

/** Opens the keys of the issuers that settings name. */
export function openIssuerKeys({ config, clock, logger, lifecycle }: OpenIssuerKeysOptions): IssuerKeys {
  // The configuration names the issuers, which may be in a private network. Nobody else can choose what is fetched.
  const httpClient = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: FETCH_TIMEOUT_MS,
    bodyBytesMax: FETCHED_BYTES_MAX,
    userAgent: 'open-payments-server'
  })
  lifecycle.add({ name: 'connections to issuers', stop: () => httpClient.close() })
  return createIssuerKeys({ httpClient, clock, logger, allowHttp: config.ENVIRONMENT === 'development' })
}
