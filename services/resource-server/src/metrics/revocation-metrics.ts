import type { Metrics } from '@open-payments-server/service-kit/metrics'
import type { RevocationListener } from '../domain/ports.js'

/** The same listener, publishing whether the stream is live, see `docs/metrics.md`. */
export function publishRevocationStream(
  listener: RevocationListener,
  metrics: Pick<Metrics, 'addLiveGauge'>
): RevocationListener {
  let connected = 0
  metrics.addLiveGauge(
    {
      name: 'open_payments_revocation_stream_connected',
      help: 'Whether the revocation stream is live (1). If not (0), every request asks the auth server.'
    },
    () => connected
  )
  return {
    onStarted() {
      connected = 1
      listener.onStarted()
    },
    onTokenRevoked(hash) {
      listener.onTokenRevoked(hash)
    },
    onGrantRevoked(grantId) {
      listener.onGrantRevoked(grantId)
    },
    onClientFreezeChanged(client) {
      listener.onClientFreezeChanged(client)
    },
    onGrantChanged(grantId) {
      listener.onGrantChanged(grantId)
    },
    onEnded(reason) {
      connected = 0
      listener.onEnded(reason)
    }
  }
}
