import { randomUUID } from 'node:crypto'
import { LOOKED_AT_MAX, readEvents } from '@open-payments-server/events'
import { callUnary, createClient, readStream, RpcError, status } from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { assertAsDescribed } from './support/described-events.js'
import { openDatabase } from './support/open-database.js'
import { PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld
let client: events.EventServiceClient

beforeAll(async () => {
  world = await startPaymentWorld()
  client = createClient(events.EventServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })
})
afterAll(async () => {
  client.close()
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})

/** Lists events. Each must be as it is described. */
async function list(
  afterCursor = '',
  more: Partial<events.ListEventsRequest> = {}
): Promise<events.ListEventsResponse> {
  const request = { afterCursor, types: [], pageSize: 1_000, ...more }
  const listed = await callUnary(client, 'listEvents', request, { idempotent: true })
  listed.events.forEach(assertAsDescribed)
  return listed
}

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => (error instanceof RpcError ? `${status[error.code]} ${error.message}` : String(error))
  )

/** Reads a stream until it has told of so many events. */
async function watch(request: Partial<events.WatchEventsRequest>, count: number): Promise<events.Event[]> {
  const told: events.Event[] = []
  const abort = new AbortController()
  const whole = { afterCursor: '', types: [], onlyNew: false, ...request }
  for await (const { message } of readStream(client, 'watchEvents', whole, { signal: abort.signal })) {
    if (message?.$case === 'event') told.push(message.value)
    if (told.length === count) break
  }
  return told
}

/** Waits until everything that happened is published. */
async function whenPublished(): Promise<void> {
  for (;;) {
    const [row] = await world.database.query<{ count: number }>(
      'select count(*)::int as count from event_outbox'
    )
    if (row?.count === 0) return
    await new Promise(setImmediate)
  }
}

/** What happened to a resource, in order. */
async function happenedTo(subject: string): Promise<events.Event[]> {
  await whenPublished()
  return (await list()).events.filter((event) => event.subject === subject)
}

const dataOf = ({ data }: events.Event): Record<string, unknown> =>
  JSON.parse(data) as Record<string, unknown>

describe('a payment', () => {
  it('tells what happens to it and its receiver, as their API showed them then', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(500) })
    const created = await world.pay(receiver, 500)
    const paid = created.textAt('id')
    const ended = await world.whenEnded(paid)

    const outgoing = await happenedTo(paid)
    expect(outgoing.map(({ type }) => type)).toEqual([
      'outgoing_payment.created',
      'outgoing_payment.completed'
    ])
    expect(dataOf(outgoing[0]!)).toMatchObject({ id: paid, failed: false, sentAmount: usd(0) })
    expect(dataOf(outgoing[1]!)).toEqual(ended.body)

    const incoming = await happenedTo(receiver)
    expect(incoming.map(({ type }) => type)).toEqual([
      'incoming_payment.created',
      'incoming_payment.received',
      'incoming_payment.completed'
    ])
    expect(incoming.map(({ sequence }) => sequence)).toEqual(incoming.map(({ sequence }) => sequence).sort())
    expect(dataOf(incoming[0]!)).toMatchObject({ completed: false, receivedAmount: usd(0) })
    expect(dataOf(incoming[1]!)).toMatchObject({ completed: true, receivedAmount: usd(500) })
    expect(incoming.every((event) => !('methods' in dataOf(event)))).toBe(true)
    expect(new Set([...outgoing, ...incoming].map(({ id }) => id)).size).toBe(5)
  })

  it('that fails tells why', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(300) })
    const [first, second] = await Promise.all([world.pay(receiver, 300), world.pay(receiver, 300)])
    for (const answer of [first, second])
      if (answer.status === 201) await world.whenEnded(answer.textAt('id'))
    const failed = (await Promise.all([first, second].map((answer) => happenedTo(String(answer.at('id'))))))
      .flat()
      .filter(({ type }) => type === 'outgoing_payment.failed')
    for (const event of failed)
      expect(dataOf(event)).toMatchObject({ failed: true, failureReason: expect.any(String) })
  })

  it('whose receiver is completed by its client tells of that', async () => {
    const receiver = await world.createReceiver()
    expect((await world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)).status).toBe(200)
    const told = await happenedTo(receiver)
    expect(told.map(({ type }) => type)).toEqual(['incoming_payment.created', 'incoming_payment.completed'])
    expect(dataOf(told[1]!)).toMatchObject({ completed: true, receivedAmount: usd(0) })
  })

  it('that is repeated tells of nothing again', async () => {
    const options = { headers: { 'idempotency-key': randomUUID() } }
    const body = { walletAddress: `${PUBLIC_URL}/bob` }
    const [first, again] = [
      await world.request('POST', '/incoming-payments', { body, ...options }),
      await world.request('POST', '/incoming-payments', { body, ...options })
    ]
    expect(again.at('id')).toBe(first.at('id'))
    expect(await happenedTo(first.textAt('id'))).toHaveLength(1)
  })
})

describe('an account', () => {
  it('tells that it is created, frozen and unfrozen, with who ordered it and why, and each once', async () => {
    await world.operate('createAccount', { name: 'dora', asset: { code: 'USD', scale: 2 } })
    const accountName = 'dora'
    for (const reason of ['court order', 'repeated'])
      await world.operate('freezeAccount', { accountName, reason })
    for (const reason of ['lifted', 'repeated'])
      await world.operate('unfreezeAccount', { accountName, reason })
    await whenPublished()
    const told = (await list('', { types: ['account.created', 'account.frozen', 'account.unfrozen'] })).events
    const about = told.filter((event) => dataOf(event).name === 'dora')
    const account = { id: about[0]?.subject, name: 'dora', assetCode: 'USD', assetScale: 2 }
    expect(about.map((event) => [event.type, dataOf(event)])).toEqual([
      ['account.created', { ...account, createdAt: expect.any(String), frozen: false }],
      [
        'account.frozen',
        { ...account, createdAt: expect.any(String), frozen: true, by: '', reason: 'court order' }
      ],
      [
        'account.unfrozen',
        { ...account, createdAt: expect.any(String), frozen: false, by: '', reason: 'lifted' }
      ]
    ])
    expect(account.id).toMatch(/^urn:uuid:/)
    expect(new Set(about.map(({ subject }) => subject)).size).toBe(1)
  })
})

describe('a wallet address', () => {
  it('tells that it is frozen and unfrozen', async () => {
    const walletAddress = `${PUBLIC_URL}/carol`
    await world.operate('freezeWalletAddress', { walletAddress, reason: 'why' })
    await world.operate('unfreezeWalletAddress', { walletAddress, reason: '' })
    const data = { id: walletAddress, assetCode: 'EUR', assetScale: 2, by: '' }
    expect((await happenedTo(walletAddress)).map((event) => [event.type, dataOf(event)])).toEqual([
      ['wallet_address.frozen', { ...data, frozen: true, reason: 'why' }],
      ['wallet_address.unfrozen', { ...data, frozen: false, reason: '' }]
    ])
  })
})

describe('a reader', () => {
  it('misses nothing that is committed later than what came after it', async () => {
    await whenPublished()
    const { cursor } = await list()
    let commit = (): void => undefined
    const late = world.database.inTransaction(async (query) => {
      const [row] = await query<{ subject_id: string }>(
        `insert into event_outbox (type, subject_id, occurred_at)
         select 'incoming_payment.created', id, now() from incoming_payment limit 1 returning subject_id`
      )
      await new Promise<void>((resolve) => {
        commit = resolve
      })
      return row?.subject_id
    })
    const receiver = await world.createReceiver()
    const [told] = await watch({ afterCursor: cursor }, 1)
    expect(told?.subject).toBe(receiver)
    commit()
    const [then] = await watch({ afterCursor: told!.cursor }, 1)
    expect(then?.subject).toContain(String(await late))
  })

  it('may read only some types, and does not pass over the others again', async () => {
    await whenPublished()
    const { cursor } = await list()
    await world.createReceiver()
    await whenPublished()
    const none = await list(cursor, { types: ['outgoing_payment.failed'] })
    expect(none.events).toEqual([])
    expect(await list(none.cursor)).toMatchObject({ events: [] })
  })

  it('of rare events looks at a part of all others at a time', async () => {
    await whenPublished()
    const { cursor } = await list()
    await world.database.query(
      `with told as (update event_log set last_number = last_number + $1 returning last_number - $1 as before)
       insert into event (number, id, type, subject_id, occurred_at)
       select before + n, gen_random_uuid(), 'quote.expired', gen_random_uuid(), now() from told, generate_series(1, $1::bigint) n`,
      [2 * LOOKED_AT_MAX]
    )
    const receiver = await world.createReceiver()
    await whenPublished()
    const types = ['incoming_payment.created']
    const afterNumber = BigInt(cursor.split('.')[1] ?? '')
    const reached = await readEvents(openDatabase(world.server.pool), { afterNumber, types, countMax: 1 })
    expect(reached).toMatchObject({ events: [], more: true, toNumber: afterNumber + BigInt(LOOKED_AT_MAX) })
    const listed = await list(cursor, { types })
    expect(listed).toMatchObject({ events: [{ subject: receiver }], cursor: listed.events[0]?.cursor })
    expect(await watch({ afterCursor: cursor, types }, 1)).toMatchObject([{ subject: receiver }])
    await world.database.query(`delete from event where type = 'quote.expired'`)
  })

  it('that wants only what is new is told as it happens', async () => {
    const watching = watch({ onlyNew: true, types: ['incoming_payment.created'] }, 1)
    const created: string[] = []
    for (let told = false; !told;) {
      created.push(await world.createReceiver())
      told = await Promise.race([
        watching.then(() => true),
        new Promise<boolean>((go) => setTimeout(go, 20, false))
      ])
    }
    expect(created).toContain((await watching)[0]?.subject)
  })

  it('is refused with a cursor that was never given, or an unknown type', async () => {
    const { cursor } = await list()
    for (const wrong of [
      'x',
      cursor.replace('resource-server', 'auth-server'),
      'resource-server.999999999',
      `${cursor}0000000000000000000`,
      'resource-server.-1'
    ])
      expect(await refusalOf(list(wrong))).toBe(
        'INVALID_ARGUMENT after_cursor must be a cursor that this service gave'
      )
    expect(await refusalOf(list('', { types: ['incoming_payment.nothing'] }))).toMatch(
      /^INVALID_ARGUMENT types\[0\] /
    )
    expect(await refusalOf(list('', { pageSize: 1_001 }))).toMatch(/^INVALID_ARGUMENT page_size /)
    expect(await refusalOf(watch({ afterCursor: cursor, onlyNew: true }, 1))).toMatch(
      /^INVALID_ARGUMENT only_new /
    )
  })

  // As after a failover, in a copy by `create database … template`, and in a restored dump.
  it.each(['timeline_id', 'database_oid', 'table_oid'])(
    'of lost events is told to read everything anew where the database has another %s',
    async (differing) => {
      await whenPublished()
      const before = await list()
      const lost = `resource-server.${String(BigInt(before.cursor.split('.')[1] ?? '') + 1n)}`
      // One who read events that were lost stands where the new epoch gives no number.
      const receiver = await world.database.inTransaction(async (query) => {
        await query('select pg_advisory_xact_lock(7306587041)')
        await world.database.query(`update event_epoch set ${differing} = ${differing} + 1`)
        // Until it is known that there is a new epoch, a cursor that was given must not look like one that never was.
        expect(await refusalOf(list(lost))).toBe('UNAVAILABLE Service unavailable')
        expect(await refusalOf(watch({ afterCursor: lost }, 1))).toBe('UNAVAILABLE Service unavailable')
        return world.createReceiver()
      })
      await whenPublished()
      expect(await list(before.cursor)).toMatchObject({ resyncCause: 0, events: [{ subject: receiver }] })
      expect(await list(lost)).toMatchObject({
        resyncCause: events.ResyncCause.RESYNC_CAUSE_EVENTS_LOST,
        events: [{ subject: receiver }]
      })
    }
  )

  it('of lost or expired events is told to read everything anew, and goes on', async () => {
    await whenPublished()
    const { RESYNC_CAUSE_EVENTS_LOST, RESYNC_CAUSE_EVENTS_EXPIRED } = events.ResyncCause
    const before = await list()
    await world.createReceiver()
    await whenPublished()
    // As a backup of before all of that, whose timeline is another one: it knows nothing of the last epoch.
    const read = await list()
    const restored = Number(before.cursor.split('.')[1])
    await world.database.query(`delete from event where number > $1`, [restored])
    await world.database.query(`update event_log set last_number = $1`, [restored])
    await world.database.query('delete from event_epoch where first_number > 1')
    const late = await world.createReceiver()
    await whenPublished()
    expect(read.cursor).not.toBe(before.cursor)
    expect(await list(read.cursor)).toMatchObject({
      resyncCause: RESYNC_CAUSE_EVENTS_LOST,
      events: [{ subject: late }]
    })
    await world.database.query('update event_log set expired_number = 2')
    expect(await list('resource-server.1')).toMatchObject({ resyncCause: RESYNC_CAUSE_EVENTS_EXPIRED })
    expect((await list()).events[0]?.cursor).toBe('resource-server.3')
  })
})
