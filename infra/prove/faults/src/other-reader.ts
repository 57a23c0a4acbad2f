import { randomBytes } from 'node:crypto'
import type { ConnectedSystem } from '@open-payments-server/acceptance'
import { createSafeHttpClient } from '@open-payments-server/http-client'
import { systemClock } from '@open-payments-server/runtime'
import { readSigningKeys } from '../../../../services/resource-server/src/domain/signing-keys.js'
import {
  createClientIdentity,
  createReceiverReader,
  type ReceiverReading
} from '../../../../services/resource-server/src/other-providers/index.js'

/** Reads incoming payments at other providers as a system does. */
export interface OtherReader {
  /** Reads one, as if nothing was known of its provider. */
  read(url: string): Promise<ReceiverReading>
  close(): Promise<void>
}

/** As one of its own resource servers would set them. */
const REQUEST_TIMEOUT_MS = 2_000
const DOCUMENT_BYTES_MAX = 65_536

/** Creates a reader that has the identity of a system, and keeps nothing between two readings. */
export async function createOtherReader({
  resourceServers,
  resourceServerUrl
}: ConnectedSystem): Promise<OtherReader> {
  const identity = createClientIdentity({
    walletAddress: `${resourceServerUrl}/.well-known/pay`,
    keys: await readSigningKeys(resourceServers[0]?.settings.PROVIDER_KEYS ?? '')
  })
  const http = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: REQUEST_TIMEOUT_MS,
    bodyBytesMax: DOCUMENT_BYTES_MAX,
    userAgent: 'test',
    connectionsMax: 32
  })
  return {
    read(url) {
      const store = {
        find: () => Promise.resolve(undefined),
        save: () => Promise.resolve(),
        forget: () => Promise.resolve()
      }
      const random = { bytes: (length: number) => randomBytes(length) }
      return createReceiverReader({ http, identity, store, clock: systemClock, random }).readReceiver(url)
    },
    close: () => http.close()
  }
}
