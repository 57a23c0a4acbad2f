import type { Telling } from '@open-payments-server/service-kit/webhooks'
import { createServePayment } from '../features/wait-for-changes/serve-payment.js'
import { WaitingRoom } from '../features/wait-for-changes/waiting-room.js'
import type { ServePayment } from '../features/waitable-payments.js'
import { publishWaiting, publishWaitingRefused } from '../metrics/waiting-metrics.js'
import type { Context } from './context.js'
import type { DomainPorts } from './domain-ports.js'
import type { ServedMetrics } from './metrics.js'
import type { Resources } from './resources.js'

/** The share of a listener's connections that may wait unless a setting says otherwise: the others must get through. */
const WAITING_SHARE = 0.8

/** Who waits here, and how payments are served to them. */
export interface Waiting {
  /** To be stopped with the listeners. */
  readonly room: WaitingRoom
  readonly servePayment: ServePayment
}

/** Lets clients wait for changes. */
export function startWaiting(
  context: Context,
  { database, metrics }: Pick<Resources, 'database'> & Pick<ServedMetrics, 'metrics'>,
  { authorizer, watchedTokens: tokens }: Pick<DomainPorts, 'authorizer' | 'watchedTokens'>,
  { news }: Pick<Telling, 'news'>
): Waiting {
  const { config, logger, lifecycle, clock } = context
  const room = new WaitingRoom({
    database,
    news,
    logger,
    waitersMax: config.WAITING_CLIENTS_MAX ?? Math.floor(config.HTTP_CONNECTIONS_MAX * WAITING_SHARE),
    waitersPerClientMax: config.WAITING_PER_CLIENT_MAX,
    countRefused: publishWaitingRefused(metrics)
  })
  lifecycle.add(room.tail)
  publishWaiting(metrics, () => room.counts)
  const heartbeatMs = config.WAITING_HEARTBEAT_SECONDS * 1_000
  return {
    room,
    servePayment: createServePayment({ database, authorizer, room, tokens, clock, heartbeatMs })
  }
}
