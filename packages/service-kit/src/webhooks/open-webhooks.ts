import type { RawQueries } from '@open-payments-server/database'
import type { CompleteEvents, EventNews, ToldEvent } from '@open-payments-server/events'
import { createEndpointClient, type PostClient } from '@open-payments-server/http-client'
import type { Lifecycle, Logger } from '@open-payments-server/runtime'
import type { Secret } from '@open-payments-server/runtime/configuration'
import type { SecretBox } from '@open-payments-server/runtime/secret-box'
import type { Clock } from '@open-payments-server/value-types/clock'
import { createEndpointSecrets, WebhookDelivery } from '@open-payments-server/webhooks'

/** How long an endpoint may take to answer, in milliseconds. */
const TIMEOUT_MS = 10_000
/** Maximum number of connections to the host of an endpoint. */
const CONNECTIONS_PER_HOST_MAX = 64

/** What posting events needs of its service. */
export interface WebhooksContext {
  readonly config: {
    readonly ENVIRONMENT: 'production' | 'development'
    readonly WEBHOOK_PRIVATE_NETWORKS?: readonly string[] | undefined
    readonly WEBHOOK_SECRET_KEY?: Secret | undefined
    readonly WEBHOOK_SECRET_KEYS_OTHER?: Secret<readonly string[]> | undefined
  }
  readonly database: RawQueries
  readonly news: EventNews
  readonly complete: CompleteEvents
  /** URLs of the wallet addresses that an event concerns. */
  readonly walletAddressesOf: (event: ToldEvent) => readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly counters: {
    /** Counts an attempt to deliver an event. */
    readonly countWebhookAttempt: (result: 'delivered' | 'failed') => void
    readonly countFailedBatch: (worker: 'webhooks') => void
  }
}

/** What registering endpoints needs. */
export interface Webhooks {
  readonly client: PostClient
  /** Undefined without a key. */
  readonly secrets: SecretBox | undefined
}

/** Posts events to the endpoints that are registered, if there is a key for their secrets. */
export function openWebhooks(context: WebhooksContext): Webhooks {
  const { config, lifecycle, clock, counters } = context
  const client = createEndpointClient({
    isDevelopment: config.ENVIRONMENT === 'development',
    privateNetworks: config.WEBHOOK_PRIVATE_NETWORKS,
    timeoutMs: TIMEOUT_MS,
    connectionsMax: CONNECTIONS_PER_HOST_MAX
  })
  lifecycle.add({ name: 'webhook connections', stop: () => client.close() })
  const key = config.WEBHOOK_SECRET_KEY?.reveal()
  if (key === undefined) return { client, secrets: undefined }
  const secrets = createEndpointSecrets([key, ...(config.WEBHOOK_SECRET_KEYS_OTHER?.reveal() ?? [])])
  lifecycle.add(
    new WebhookDelivery({
      ...context,
      client,
      secrets,
      now: () => clock.now(),
      onAttempt: ({ attempt: { failure } }) => {
        counters.countWebhookAttempt(failure === undefined ? 'delivered' : 'failed')
      },
      onFailed: () => {
        counters.countFailedBatch('webhooks')
      }
    })
  )
  return { client, secrets }
}
