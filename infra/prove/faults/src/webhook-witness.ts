import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ConnectedSystem, eventually, type ServiceName } from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { TestDatabase } from '@open-payments-server/testing'

interface Told {
  readonly id: string
  readonly sequence: number
  readonly subject: string
}

const SERVICES: readonly ServiceName[] = ['auth-server', 'resource-server']
/** Every so many events are refused once, so that some are told again. */
const REFUSED_EVERY = 7

/** Is told of every event of both services from its start on, and compares that with what is committed. */
export class WebhookWitness {
  readonly #told: Readonly<Record<ServiceName, Told[]>> = { 'auth-server': [], 'resource-server': [] }
  readonly #system: ConnectedSystem
  readonly #server = createServer()

  private constructor(system: ConnectedSystem) {
    this.#system = system
  }

  /** Registers with both services. */
  static async start(system: ConnectedSystem): Promise<WebhookWitness> {
    const witness = new WebhookWitness(system)
    await witness.#listen()
    const { port } = witness.#server.address() as AddressInfo
    for (const service of SERVICES) {
      const url = `http://127.0.0.1:${String(port)}/${service}`
      const request = { url, types: [], walletAddress: '', secret: '' }
      await callUnary(system.webhooks[service], 'createWebhookEndpoint', request, { idempotent: false })
    }
    return witness
  }

  async #listen(): Promise<void> {
    let count = 0
    const refused = new Set<string>()
    this.#server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        count += 1
        const event = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Told
        if (count % REFUSED_EVERY === 0 && !refused.has(event.id)) {
          refused.add(event.id)
          response.writeHead(503).end()
          return
        }
        const service = SERVICES.find((name) => request.url === `/${name}`)
        if (service !== undefined) this.#told[service].push(event)
        response.writeHead(204).end()
      })
    })
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /**
   * Waits until every committed event was told, and resolves to what is wrong: events that were told and never committed, and
   * events of one subject that were first told in another order than they were committed in.
   */
  async differences(withinMs: number): Promise<string[]> {
    const wrong: string[] = []
    for (const service of SERVICES) {
      const database = service === 'auth-server' ? this.#system.authDatabase : this.#system.resourceDatabase
      const told = this.#told[service]
      await eventually(
        `every event of the ${service} was told`,
        async () => {
          const ids = new Set(told.map(({ id }) => id))
          const { unpublished, published } = await eventsIn(database)
          return unpublished === 0 && published.every(({ id, is_later }) => !is_later || ids.has(id))
        },
        withinMs
      )
      const { published } = await eventsIn(database)
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
    return wrong
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

/** All events, and whether they happened after the endpoint was registered. */
async function eventsIn(database: TestDatabase) {
  const published = await database.query<{ id: string; number: string; is_later: boolean }>(
    `select e.id, e.number::text as number, e.occurred_at > (select min(created_at) from webhook_endpoint) as is_later
       from event e order by e.number`
  )
  const [outbox] = await database.query<{ count: number }>('select count(*)::int as count from event_outbox')
  return { published, unpublished: outbox?.count ?? 0 }
}
