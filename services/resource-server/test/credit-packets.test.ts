import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { sizeOnDisk, whenLocked } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  catchPacket,
  codeOf,
  createPeers,
  PEER_SETTINGS,
  type PayingPeer,
  type TestPeers
} from './support/paying-peer.js'
import { CAROL, type PaymentWorld, PUBLIC_URL, startPaymentWorld, usd } from './support/payment-world.js'
import { startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

/** Number of packets whose size on disk is measured. */
const PACKETS = 300

let world: PaymentWorld
/** Another replica. */
let replica: TestResourceServer
let peers: TestPeers

beforeAll(async () => {
  world = await startPaymentWorld({ settings: PEER_SETTINGS })
  replica = await startTestResourceServer({
    settings: { ...PEER_SETTINGS, DATABASE_URL: world.database.url }
  })
  peers = createPeers(world)
})
afterAll(async () => {
  expect(await world.audit()).toEqual([])
  peers.close()
  await replica.stop()
  await world.stop()
})

const read = (receiver: string) => world.request('GET', receiver.slice(PUBLIC_URL.length))
const owedBy = (peer: PayingPeer) => peers.owedBy(peer)
const destination = async (receiver: string) => peers.destinationOf((await read(receiver)).at('methods'))
/** Ends the tokens of a peer at once. */
const endTokens = (peer: PayingPeer) =>
  peers.operate('rotatePeerToken', { name: peer.name, incomingToken: randomUUID(), overlapSeconds: 0 })
/** A packet that pays a payment, caught before it is posted. */
const packetTo = async (peer: PayingPeer, receiver: string, value: bigint) =>
  catchPacket(peer, await destination(receiver), value)

describe('a packet', () => {
  it('that brings more than there is room for is refused with what there is room for', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver({ incomingAmount: usd(100) })
    const [more, all] = [await packetTo(peer, receiver, 101n), await packetTo(peer, receiver, 100n)]
    expect(codeOf(await peer.post(more))).toBe('F99')
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(0))
    expect(codeOf(await peer.post(all))).toBe('fulfill')
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(100), completed: true })
    expect(await owedBy(peer)).toBe('100')
  })

  it.each([
    ['that expires', 60],
    ['whose answer would come too late', 29.7]
  ])('%s while it waits for others is refused', async (_which, seconds) => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const packet = await packetTo(peer, receiver, 5n)
    const other = await world.server.pool.connect()
    await other.query('begin')
    await other.query('select from incoming_payment where id = $1 for no key update', [receiver.slice(-36)])
    const answered = peer.post(packet)
    await whenLocked(world.database.query)
    world.clock.advanceSeconds(seconds)
    await other.query('commit')
    other.release()
    expect(codeOf(await answered)).toBe('R00')
    expect(await owedBy(peer)).toBe('0')
  })

  it('whose credit would not change all that it must changes nothing, and is not answered', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const packet = await packetTo(peer, receiver, 5n)
    await world.database.query(`
      create function lose_receipt() returns trigger language plpgsql as $$ begin
        if new.kind = 'receipt' then return null; end if;
        return new;
      end $$`)
    await world.database.query(
      'create trigger lose_receipt before insert on transfer for each row execute function lose_receipt()'
    )
    const lost = await peer.post(packet).finally(async () => {
      await world.database.query('drop trigger lose_receipt on transfer')
    })
    expect(lost.status).toBe(500)
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(0))
    expect(await owedBy(peer)).toBe('0')
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
  })
})

describe('at two replicas', () => {
  it('a token that ended at one is refused at once by the other, whose clock is behind', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const [first, second] = [await packetTo(peer, receiver, 5n), await packetTo(peer, receiver, 7n)]
    replica.clock.set(world.clock.now() - 1_000)
    expect(codeOf(await peer.at(replica).post(first))).toBe('fulfill')
    await endTokens(peer)
    expect((await peer.at(replica).post(second)).status).toBe(401)
    expect(await owedBy(peer)).toBe('5')
  })

  it('a token ends only when all packets are credited that it was found valid for', async () => {
    const peer = await peers.create()
    const packet = await packetTo(peer, await world.createReceiver(), 5n)
    const { posted, ending } = await world.database.inTransaction(async (query) => {
      // What the packet meets is read, and it is not written yet.
      await query('lock table received_packet in share mode')
      const posted = peer.at(replica).post(packet)
      await whenLocked(world.database.query)
      const ending = endTokens(peer).then(() => owedBy(peer))
      await whenLocked(world.database.query, 2)
      return { posted, ending }
    })
    expect(codeOf(await posted)).toBe('fulfill')
    expect(await ending).toBe('5')
  })

  it('a packet that comes to both at once is credited once, and fulfilled by both', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const packets: Buffer[] = []
    for (let value = 1n; value <= 10n; value += 1n) packets.push(await packetTo(peer, receiver, value))
    const answers = await Promise.all(
      packets.flatMap((packet) => [peer.post(packet), peer.at(replica).post(packet)])
    )
    expect(new Set(answers.map(codeOf))).toEqual(new Set(['fulfill']))
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(55))
    expect(await owedBy(peer)).toBe('55')
  })

  it('packets to different payments never take a peer above what it may owe', async () => {
    const peer = await peers.create({ receivableLimitValue: '100' })
    const packets: Buffer[] = []
    for (let count = 0; count < 30; count += 1)
      packets.push(await packetTo(peer, await world.createReceiver(), 7n))
    // Both replicas are about to find out what the peer owes when they may.
    const { posted } = await world.database.inTransaction(async (query) => {
      await query(
        'select 1 from account where id = (select receivable_account_id from peer where name = $1) for update',
        [peer.name]
      )
      const all = packets.map((packet, index) => (index % 2 === 0 ? peer : peer.at(replica)).post(packet))
      await whenLocked(world.database.query, 2)
      return { posted: Promise.all(all) }
    })
    const answers = await posted
    expect(answers.filter((answer) => codeOf(answer) === 'fulfill')).toHaveLength(14)
    expect(await owedBy(peer)).toBe('98')
  })
})

it('a packet in another asset takes no more of the disk than the documentation says', async () => {
  const other = await startPaymentWorld({ settings: { ...PEER_SETTINGS, EXCHANGE_RATES: 'USD/EUR=0.9' } })
  const others = createPeers(other)
  const sizeOf = () => sizeOnDisk(other.database.query, `relname in ('received_packet', 'transfer')`)
  try {
    const peer = await others.create()
    const receiver = await other.createReceiver({ walletAddress: CAROL })
    const methods = (await other.request('GET', receiver.slice(PUBLIC_URL.length))).at('methods')
    const to = others.destinationOf(methods)
    const post = async () => {
      expect(codeOf(await peer.post(await catchPacket(peer, to, 1_000n, 900n)))).toBe('fulfill')
    }
    // The first of its kind adds the first page of each index.
    await post()
    const before = await sizeOf()
    for (let count = 0; count < PACKETS; count += 1) await post()
    const size = Math.ceil(((await sizeOf()) - before) / PACKETS)
    const limits = await readFile(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
    const [, documented = ''] = /\| Packet of a peer +\| ([\d,]+) bytes/.exec(limits) ?? []
    const limit = Number(documented.replaceAll(',', ''))
    expect(size).toBeLessThanOrEqual(limit)
    expect(size).toBeGreaterThan(limit / 2)
  } finally {
    others.close()
    await other.stop()
  }
}, 120_000)
