import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ConnectedSystem, eventually, type ServiceName } from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { TestDatabase } from '@open-payments-server/testing'
import { Webhook } from 'standardwebhooks'

interface Told {
  readonly id: string
  readonly sequence: number
  readonly subject: string
}

/** The endpoint of a service. */
interface Endpoint {
  readonly id: string
  readonly secret: Webhook
  /** What was taken, in the order of its arrival. */
  readonly told: Told[]
  /** The body of each message that was verified, by the id of its event. */
  readonly bodies: Map<string, string>
  /** What must not arrive. */
  readonly wrong: string[]
  unverifiedCount: number
}

const SERVICES: readonly ServiceName[] = ['auth-server', 'resource-server']
/** Without a detour, every so many events are refused once, so that some are told again. */
const REFUSED_EVERY = 7

/** Is told of every event of both services from its start on, and compares that with what is committed. */
export class WebhookWitness {
  readonly #endpoints = new Map<ServiceName, Endpoint>()
  readonly #system: ConnectedSystem
  readonly #server = createServer()

  private constructor(system: ConnectedSystem) {
    this.#system = system
  }

  /**
   * Registers with both services.
   *
   * @param detour port of 127.0.0.1 through which they are to reach the given one; by default they reach it directly
   */
  static async start(
    system: ConnectedSystem,
    detour?: (port: number) => Promise<number>
  ): Promise<WebhookWitness> {
    const witness = new WebhookWitness(system)
    const listening = await witness.#listen(detour === undefined ? REFUSED_EVERY : Infinity)
    const port = (await detour?.(listening)) ?? listening
    for (const service of SERVICES) await witness.#register(service, port)
    return witness
  }

  async #register(service: ServiceName, port: number): Promise<void> {
    const request = {
      url: `http://127.0.0.1:${String(port)}/${service}`,
      types: [],
      walletAddress: '',
      secret: ''
    }
    const { endpoint, secret } = await callUnary(
      this.#system.webhooks[service],
      'createWebhookEndpoint',
      request,
      { idempotent: false }
    )
    if (endpoint === undefined) throw new Error(`the ${service} registered nothing`)
    this.#endpoints.set(service, {
      id: endpoint.id,
      secret: new Webhook(secret),
      told: [],
      bodies: new Map(),
      wrong: [],
      unverifiedCount: 0
    })
  }

  async #listen(refusedEvery: number): Promise<number> {
    let count = 0
    const refused = new Set<string>()
    this.#server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const service = SERVICES.find((name) => request.url === `/${name}`)
        const endpoint = service && this.#endpoints.get(service)
        if (endpoint === undefined) {
          response.writeHead(404).end()
          return
        }
        const event = read(endpoint, request, Buffer.concat(chunks))
        if (event === undefined) {
          response.writeHead(401).end()
          return
        }
        count += 1
        if (count % refusedEvery === 0 && !refused.has(event.id)) {
          refused.add(event.id)
          response.writeHead(503).end()
          return
        }
        endpoint.told.push(event)
        response.writeHead(204).end()
      })
    })
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  /** Number of messages that were taken, and of those that could not be verified. */
  get counts(): { readonly taken: number; readonly takenAgain: number; readonly unverified: number } {
    const endpoints = [...this.#endpoints.values()]
    const sum = (count: (endpoint: Endpoint) => number): number =>
      endpoints.reduce((total, endpoint) => total + count(endpoint), 0)
    return {
      taken: sum(({ told }) => told.length),
      takenAgain: sum(({ told }) => told.length - new Set(told.map(({ id }) => id)).size),
      unverified: sum(({ unverifiedCount }) => unverifiedCount)
    }
  }

  /** Has everything that was not taken delivered now, as an operator may. */
  async replay(): Promise<void> {
    for (const [service, { id }] of this.#endpoints) {
      const request = { id, after: undefined }
      await callUnary(this.#system.webhooks[service], 'replayWebhooks', request, { idempotent: true })
    }
  }

  /** Waits until every committed event is taken, and both services have recorded that. */
  async whenNothingIsDue(withinMs: number): Promise<void> {
    for (const [service, { id }] of this.#endpoints) {
      await eventually(
        `the ${service} has nothing left to tell`,
        async () => {
          const [row] = await this.#databaseOf(service).query<{ is_due: boolean }>(
            `select exists (select 1 from webhook_delivery) or exists (select 1 from event_outbox)
                 or reached_number < (select max(number) from event) as is_due
               from webhook_endpoint where id = $1 and disabled_cause is null`,
            [id]
          )
          return row?.is_due === false
        },
        withinMs
      )
    }
  }

  /**
   * Waits until every committed event was told, and resolves to what is wrong: events that were told and never committed, events
   * of one subject that were first told in another order than they were committed in, and messages that differ from the first of
   * their event or cannot be verified.
   *
   * @param corruptedMax number of messages that may have changed on their way, and need not be verified
   */
  async differences(withinMs: number, corruptedMax = 0): Promise<string[]> {
    const wrong: string[] = []
    for (const [service, { told, wrong: arrived }] of this.#endpoints) {
      wrong.push(...arrived)
      await eventually(
        `every event of the ${service} was told`,
        async () => {
          const ids = new Set(told.map(({ id }) => id))
          const { unpublished, published } = await eventsIn(this.#databaseOf(service))
          return unpublished === 0 && published.every(({ id, is_later }) => !is_later || ids.has(id))
        },
        withinMs
      )
      const { published } = await eventsIn(this.#databaseOf(service))
      const numbers = new Map(published.map(({ id, number }) => [id, Number(number)]))
      const newest = new Map<string, number>()
      const seen = new Set<string>()
      for (const { id, sequence, subject } of told) {
        if (numbers.get(id) !== sequence)
          wrong.push(`the ${service} told of ${id}, which is not committed as number ${String(sequence)}`)
        if (!seen.has(id) && sequence < (newest.get(subject) ?? 0))
          wrong.push(`the ${service} told of ${id} after what came later`)
        if (!seen.has(id)) newest.set(subject, sequence)
        seen.add(id)
      }
    }
    const { unverified } = this.counts
    if (unverified > corruptedMax) wrong.push(`${String(unverified)} messages cannot be verified`)
    return wrong
  }

  #databaseOf(service: ServiceName): TestDatabase {
    return service === 'auth-server' ? this.#system.authDatabase : this.#system.resourceDatabase
  }

  /** Stops listening. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.closeAllConnections()
      this.#server.close(() => {
        resolve()
      })
    })
  }
}

/** Verifies a message, and compares it with what came before. @returns undefined when it cannot be verified */
function read(endpoint: Endpoint, { headers }: IncomingMessage, bytes: Buffer): Told | undefined {
  const body = bytes.toString('utf8')
  try {
    endpoint.secret.verify(body, headers as Record<string, string>)
  } catch {
    endpoint.unverifiedCount += 1
    return undefined
  }
  const event = JSON.parse(body) as Told
  const id = String(headers['webhook-id'])
  if (id !== event.id) endpoint.wrong.push(`the event ${event.id} came with the webhook-id ${id}`)
  const first = endpoint.bodies.get(id)
  if (first !== undefined && first !== body) endpoint.wrong.push(`${body} came after ${first}`)
  endpoint.bodies.set(id, body)
  return event
}

/** All events, and whether they happened after the endpoint was registered. */
async function eventsIn(database: TestDatabase) {
  const published = await database.query<{ id: string; number: string; is_later: boolean }>(
    `select e.id, e.number::text as number, e.occurred_at > (select min(created_at) from webhook_endpoint) as is_later
       from event e order by e.number`
  )
  const [outbox] = await database.query<{ count: number }>('select count(*)::int as count from event_outbox')
  return { published, unpublished: outbox?.count ?? 0 }
}
