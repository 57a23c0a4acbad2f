import { readStream } from '@open-payments-server/grpc-transport'
import type { auth } from '@open-payments-server/proto'
import { nameClient } from '../../domain/authorization.js'
import type { RevocationFeed, RevocationListener } from '../../domain/ports.js'

/** How long the stream may be silent, as the contract says, in milliseconds: three heartbeats. */
const SILENCE_MAX_MS = 6_000

/** The revocation stream over gRPC. */
export function createRevocationFeed(client: auth.IntrospectionServiceClient): RevocationFeed {
  return {
    watch(listener) {
      const abort = new AbortController()
      void follow(client, listener, abort.signal)
      return {
        close: () => {
          abort.abort()
        }
      }
    }
  }
}

async function follow(
  client: auth.IntrospectionServiceClient,
  listener: RevocationListener,
  signal: AbortSignal
): Promise<void> {
  try {
    for await (const message of readStream(
      client,
      'watchRevocations',
      {},
      { signal, silenceMaxMs: SILENCE_MAX_MS }
    ))
      tell(message, listener)
    listener.onEnded(new Error('the auth server ended the stream'))
  } catch (error) {
    listener.onEnded(error)
  }
}

function tell({ event }: auth.WatchRevocationsResponse, listener: RevocationListener): void {
  switch (event?.$case) {
    case 'started':
      listener.onStarted()
      return
    case 'tokensRevoked':
      for (const hash of event.value.accessTokenHashes) listener.onTokenRevoked(Buffer.from(hash))
      return
    case 'grantRevoked':
      listener.onGrantRevoked(event.value.grantId)
      return
    case 'clientFreezeChanged':
      if (event.value.client === undefined)
        throw new Error('the auth server froze a client without naming it')
      listener.onClientFreezeChanged(nameClient(event.value.client))
      return
    case 'grantChanged':
      listener.onGrantChanged(event.value.grantId)
      return
    case 'heartbeat':
      return
    case undefined:
      throw new Error('the auth server sent an unknown revocation event')
  }
}
