import type { ClientReadableStream } from '@grpc/grpc-js'
import type { auth } from '@open-payments-server/proto'
import type { RevocationFeed, RevocationListener } from '../../domain/ports.js'

/** The revocation stream over gRPC. */
export function createRevocationFeed(client: auth.IntrospectionServiceClient): RevocationFeed {
  return {
    watch(listener) {
      const stream = client.watchRevocations({})
      follow(stream, listener)
      return {
        close: () => {
          stream.cancel()
        }
      }
    }
  }
}

function follow(
  stream: ClientReadableStream<auth.WatchRevocationsResponse>,
  listener: RevocationListener
): void {
  let ended = false
  const end = (reason: unknown): void => {
    if (ended) return
    ended = true
    listener.onEnded(reason)
  }
  stream.on('data', (message: auth.WatchRevocationsResponse) => {
    if (!ended) tell(message, listener)
  })
  // After an error may come an end, or nothing: whichever is first counts.
  stream.on('error', end)
  stream.on('end', () => {
    end(new Error('the auth server ended the stream'))
  })
}

function tell({ event }: auth.WatchRevocationsResponse, listener: RevocationListener): void {
  switch (event?.$case) {
    case 'started':
      listener.onStarted()
      return
    case 'tokenRevoked':
      listener.onTokenRevoked(Buffer.from(event.value.accessTokenHash))
      return
    case 'grantRevoked':
      listener.onGrantRevoked(event.value.grantId)
      return
    case undefined:
  }
}
