import { setTimeout as delay } from 'node:timers/promises'
import { createPool, type DatabasePool } from '@open-payments-server/database'
import { publishEvents } from '@open-payments-server/events'
import { createClient, readStream, RpcError, status } from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openDatabase } from './support/open-database.js'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

/** Number of events that are told; more in a long run. */
const EVENTS = Number(process.env.EVENT_TEST_EVENTS ?? 5_000)
/** Number of writers at once, each with a connection of its own. */
const WRITERS = 64
/** Number of resources of each writer. */
const SUBJECTS = 4
/** Maximum number of events of one transaction. */
const APPENDED_MAX = 16
/** Maximum time between appending and the commit, in milliseconds. */
const COMMIT_DELAY_MAX_MS = 20
/** Share of the transactions that are rolled back. */
const ROLLED_BACK = 0.1
/** Number of processes that publish beside the server. */
const PUBLISHERS = 2

const TIME_LIMIT_MS = 300_000 + EVENTS * 3

let world: PaymentWorld
let writing: DatabasePool
let client: events.EventServiceClient
let receivers: readonly string[]

beforeAll(async () => {
  world = await startPaymentWorld()
  writing = createPool({
    url: world.database.url,
    connectionsMax: WRITERS,
    applicationName: 'writers of events',
    statementTimeoutMs: 30_000,
    connectTimeoutMs: 60_000
  })
  client = createClient(events.EventServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    callsAreLong: true,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })
  const created: string[] = []
  for (let index = 0; index < WRITERS * SUBJECTS; index += 1) created.push(await world.createReceiver())
  receivers = created
}, TIME_LIMIT_MS)
afterAll(async () => {
  client.close()
  await writing.end()
  await world.stop()
})

/** Values from 0 up to a bound. */
const random = (below: number): number => Math.floor(Math.random() * below)

/** Appends the events of one transaction: how much each resource has received, counted up by one. */
async function append(
  on: { query(text: string, values: unknown[]): Promise<unknown> },
  told: readonly { readonly subject: string; readonly count: number }[]
): Promise<void> {
  await on.query(
    `insert into event_outbox (type, subject_id, change, occurred_at)
     select 'incoming_payment.received', told.subject::uuid,
            json_build_object('received_value', told.count::text, 'completed', false, 'updated_at', now()), now()
       from unnest($1::text[], $2::integer[]) with ordinality as told (subject, count, place) order by told.place`,
    [told.map(({ subject }) => subject), told.map(({ count }) => count)]
  )
}

/** Writes so many events. Answers how many of each resource were committed. */
async function write(subjects: readonly string[], eventCount: number): Promise<ReadonlyMap<string, number>> {
  const committed = new Map<string, number>(subjects.map((subject) => [subject, 0]))
  const connection = await writing.connect()
  try {
    for (let left = eventCount; left > 0;) {
      const counts = new Map(committed)
      const told = Array.from({ length: Math.min(left, 1 + random(APPENDED_MAX)) }, () => {
        const subject = subjects[random(subjects.length)] ?? ''
        const count = (counts.get(subject) ?? 0) + 1
        counts.set(subject, count)
        return { subject, count }
      })
      await connection.query('begin')
      await append(connection, told)
      await delay(random(COMMIT_DELAY_MAX_MS))
      if (Math.random() < ROLLED_BACK) await connection.query('rollback')
      else {
        await connection.query('commit')
        for (const [subject, count] of counts) committed.set(subject, count)
        left -= told.length
      }
    }
    return committed
  } finally {
    connection.release()
  }
}

/** Publishes as another process does, until it is ended. */
async function publishBeside(signal: AbortSignal): Promise<void> {
  const database = openDatabase(world.server.pool)
  while (!signal.aborted) {
    const { published } = await publishEvents(database)
    if (published === 0) await delay(random(5))
  }
}

/** What one reader was told. */
class Reader {
  /** How much each resource had received when it was last told of. */
  readonly counts = new Map<string, number>()
  readonly wrong: string[] = []
  cursor: string
  toldCount = 0
  connectionCount = 0
  #newest = 0n

  constructor(cursor: string) {
    this.cursor = cursor
  }

  read({ subject, sequence, data, cursor, type }: events.Event): void {
    this.cursor = cursor
    if (sequence <= this.#newest) this.wrong.push(`${String(sequence)} after ${String(this.#newest)}`)
    this.#newest = sequence
    if (type !== 'incoming_payment.received') return
    const { receivedAmount } = JSON.parse(data) as { receivedAmount: { value: string } }
    const before = this.counts.get(subject) ?? 0
    if (Number(receivedAmount.value) !== before + 1)
      this.wrong.push(`${subject} with ${receivedAmount.value} after ${String(before)}`)
    this.counts.set(subject, Number(receivedAmount.value))
    this.toldCount += 1
  }

  /** Follows until it was told of all. Each connection is broken after a number of events, and resumed where it ended. */
  async follow(breakAfter: () => number): Promise<void> {
    while (!this.#isDone) {
      this.connectionCount += 1
      try {
        await this.#followOnce(breakAfter())
      } catch (error) {
        // As the contract says: read on from the last cursor.
        if (!(error instanceof RpcError) || error.code !== status.UNAVAILABLE) throw error
      }
    }
  }

  async #followOnce(messageCount: number): Promise<void> {
    let left = messageCount
    const request = { afterCursor: this.cursor, types: [], onlyNew: false }
    const { signal } = new AbortController()
    for await (const { message } of readStream(client, 'watchEvents', request, { signal })) {
      if (message?.$case === 'event') this.read(message.value)
      else if (message?.$case === 'resync') this.wrong.push('it must read everything anew')
      else if (message?.$case === 'heartbeat') this.cursor = message.value.cursor
      left -= 1
      if (left <= 0 || this.#isDone) return
    }
  }

  get #isDone(): boolean {
    return this.toldCount >= EVENTS || this.wrong.length > 0
  }
}

describe(`${String(EVENTS)} events of ${String(WRITERS)} writers at once`, () => {
  it(
    'are each told once, in the order of their resource, and none that was rolled back',
    async () => {
      const beside = new AbortController()
      const publishing = Promise.all(Array.from({ length: PUBLISHERS }, () => publishBeside(beside.signal)))
      const readers = [new Reader(''), new Reader(''), new Reader('')] as const
      const [steady, brief, restless] = readers
      const following = Promise.all([
        steady.follow(() => Infinity),
        brief.follow(() => 1 + random(EVENTS / 5)),
        // Leaves in the middle of what it is sent.
        restless.follow(() => 1 + random(2_000))
      ])
      const written = await Promise.all(
        Array.from({ length: WRITERS }, (_, index) =>
          write(
            receivers.slice(index * SUBJECTS, (index + 1) * SUBJECTS).map((url) => url.slice(-36)),
            Math.ceil((EVENTS - index) / WRITERS)
          )
        )
      )
      await following
      beside.abort()
      await publishing
      const committed = new Map(written.flatMap((counts) => [...counts]).filter(([, count]) => count > 0))
      for (const { wrong, counts } of readers) {
        expect(wrong).toEqual([])
        expect(new Map([...counts].map(([url, count]) => [url.slice(-36), count]))).toEqual(committed)
      }
      expect(brief.connectionCount).toBeGreaterThan(1)
      expect([...committed.values()].reduce((sum, count) => sum + count, 0)).toBe(EVENTS)
    },
    TIME_LIMIT_MS
  )
})
