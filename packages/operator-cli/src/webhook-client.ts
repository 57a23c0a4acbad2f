import {
  callUnary,
  type ChannelOptions,
  createClient,
  type RequestOf,
  type ResponseOf,
  RpcError,
  status,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import { EVENTFUL_SERVICES, type EventfulService } from './eventful-service.js'
import { PAGE_SIZE_MAX } from './messages.js'

/** An endpoint of a service. */
export type OperatorWebhookEndpoint = events.WebhookEndpoint & { readonly service: EventfulService }

/** What is registered. */
export interface NewWebhookEndpoint {
  readonly url: string
  readonly types: readonly string[]
  readonly walletAddress: string | undefined
  readonly secret: string | undefined
}

/** Operates the webhook endpoints of both services. An endpoint is found by its id in whichever service has it. */
export class WebhookClient {
  readonly #clients: Readonly<Record<EventfulService, events.WebhookServiceClient>>
  readonly #naming: (service: EventfulService) => (error: unknown) => never

  /** @param naming names the service in the error of a call that it could not be asked */
  constructor(
    optionsFor: (service: EventfulService) => ChannelOptions,
    naming: (service: EventfulService) => (error: unknown) => never
  ) {
    const connect = (service: EventfulService) =>
      createClient(events.WebhookServiceClient, optionsFor(service))
    this.#clients = { 'auth-server': connect('auth-server'), 'resource-server': connect('resource-server') }
    this.#naming = naming
  }

  /** Closes the connections. */
  close(): void {
    for (const client of Object.values(this.#clients)) client.close()
  }

  /** Registers an endpoint. */
  async create(
    service: EventfulService,
    { url, types, walletAddress = '', secret = '' }: NewWebhookEndpoint
  ): Promise<{ readonly id: string; readonly secret: string }> {
    const request = { url, types: [...types], walletAddress, secret }
    const created = await this.#call(service, 'createWebhookEndpoint', request, false)
    return { id: created.endpoint?.id ?? '', secret: created.secret }
  }

  /** Lists endpoints, of one service or both. */
  async list(service: EventfulService | undefined): Promise<readonly OperatorWebhookEndpoint[]> {
    const listed: OperatorWebhookEndpoint[] = []
    for (const each of service === undefined ? EVENTFUL_SERVICES : [service]) {
      let pageToken = ''
      do {
        const page = await this.#call(each, 'listWebhookEndpoints', { pageSize: PAGE_SIZE_MAX, pageToken })
        listed.push(...page.endpoints.map((endpoint) => ({ ...endpoint, service: each })))
        pageToken = page.nextPageToken
      } while (pageToken !== '')
    }
    return listed
  }

  /** Counts the endpoints of both services that are disabled, and those that are not and whose last attempt failed. */
  async countAwaiting(): Promise<{ readonly disabledCount: number; readonly failingCount: number }> {
    const counts = await Promise.all(
      EVENTFUL_SERVICES.map((service) => this.#call(service, 'countWebhookEndpoints', {}))
    )
    return {
      disabledCount: counts.reduce((sum, { disabledCount }) => sum + disabledCount, 0),
      failingCount: counts.reduce((sum, { failingCount }) => sum + failingCount, 0)
    }
  }

  /** Finds an endpoint. */
  get(id: string): Promise<OperatorWebhookEndpoint> {
    return this.#ofOwner(async (service) =>
      owned(service, await this.#call(service, 'getWebhookEndpoint', { id }))
    )
  }

  /** Changes an endpoint. */
  update(
    id: string,
    change: Omit<Partial<events.UpdateWebhookEndpointRequest>, 'id'>
  ): Promise<OperatorWebhookEndpoint> {
    const request = {
      id,
      url: undefined,
      eventTypes: undefined,
      walletAddress: undefined,
      enable: false,
      ...change
    }
    return this.#ofOwner(async (service) =>
      owned(service, await this.#call(service, 'updateWebhookEndpoint', request))
    )
  }

  /** Disables an endpoint. */
  disable(id: string): Promise<OperatorWebhookEndpoint> {
    return this.#ofOwner(async (service) =>
      owned(service, await this.#call(service, 'disableWebhookEndpoint', { id }))
    )
  }

  /** Deletes an endpoint. */
  async delete(id: string): Promise<void> {
    await this.#ofOwner((service) => this.#call(service, 'deleteWebhookEndpoint', { id }, false))
  }

  /** Replaces its secret. */
  rotateSecret(id: string, secret = ''): Promise<string> {
    return this.#ofOwner(
      async (service) => (await this.#call(service, 'rotateWebhookSecret', { id, secret }, false)).secret
    )
  }

  /** Posts a test event. */
  test(id: string): Promise<events.WebhookAttempt> {
    return this.#ofOwner(async (service) => {
      const { attempt } = await this.#call(service, 'testWebhookEndpoint', { id }, false)
      if (attempt === undefined) throw new Error('a test was answered without its attempt')
      return attempt
    })
  }

  /** Lists attempts, the newest first. */
  attempts(id: string, limit: number): Promise<readonly events.WebhookAttempt[]> {
    return this.#ofOwner(async (service) => {
      const listed: events.WebhookAttempt[] = []
      let pageToken = ''
      do {
        const pageSize = Math.min(limit - listed.length, PAGE_SIZE_MAX)
        const page = await this.#call(service, 'listWebhookAttempts', { id, pageSize, pageToken })
        listed.push(...page.attempts)
        pageToken = page.nextPageToken
      } while (pageToken !== '' && listed.length < limit)
      return listed
    })
  }

  /** Delivers events again. @returns number of events, before filters */
  replay(id: string, after: Date | undefined): Promise<bigint> {
    return this.#ofOwner(
      async (service) => (await this.#call(service, 'replayWebhooks', { id, after })).eventCount
    )
  }

  /** Asks each service until one has the endpoint. */
  async #ofOwner<Result>(ask: (service: EventfulService) => Promise<Result>): Promise<Result> {
    const [last, ...others] = [...EVENTFUL_SERVICES].reverse()
    for (const service of others) {
      try {
        return await ask(service)
      } catch (error) {
        if (!(error instanceof RpcError) || error.code !== status.NOT_FOUND) throw error
      }
    }
    return ask(last ?? 'auth-server')
  }

  #call<Name extends UnaryMethodName<events.WebhookServiceClient>>(
    service: EventfulService,
    method: Name,
    request: RequestOf<events.WebhookServiceClient, Name>,
    idempotent = true
  ): Promise<ResponseOf<events.WebhookServiceClient, Name>> {
    return callUnary(this.#clients[service], method, request, { idempotent }).catch(this.#naming(service))
  }
}

function owned(
  service: EventfulService,
  { endpoint }: { readonly endpoint: events.WebhookEndpoint | undefined }
): OperatorWebhookEndpoint {
  if (endpoint === undefined) throw new Error('a service answered without the endpoint')
  return { ...endpoint, service }
}
