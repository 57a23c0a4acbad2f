import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import { createLogger, systemRandom } from '@open-payments-server/runtime'
import type { Answer } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sweepOrphans } from '../src/features/sweep-orphans/sweep-orphans.js'
import { connectAuthServer } from '../src/grpc/auth-server/connection.js'
import { createGrantLimits } from '../src/grpc/auth-server/grant-limits.js'
import { recordFormerIncarnation } from './support/former-incarnation.js'
import type { OtherProvider } from './support/other-provider.js'
import { openDatabase } from './support/open-database.js'
import type { TestPeers } from './support/paying-peer.js'
import { BOB, PUBLIC_URL, usd } from './support/payment-world.js'
import { isProbe, type ReceivingPeer } from './support/receiving-peer.js'
import { type SendingWorld, startSendingWorld, TICK_MS, USD } from './support/sending-world.js'

/** Nobody decides about a packet before. */
const DECIDABLE_AFTER_MS = 90_000
/** How long a payment that may not be sent yet is put off. */
const PUT_OFF_MS = 60_000
/** More than anybody has. */
const UNPAYABLE = 999_999_999n
/** The most that may be owed to the peer: more than is ever, and any amount. */
const UNREACHED = '1000000000'
const ANY = ''
/** What others are paid. */
const OTHER_VALUE = 10n

let world: SendingWorld
let peers: TestPeers
let peer: ReceivingPeer
let provider: OtherProvider
let name: string
let connection: ReturnType<typeof connectAuthServer>
/** The incoming payment at the other provider that is paid. */
let receiver: string

beforeAll(async () => {
  // It sweeps once at the start, and not again: until a test says so, nothing but the statements themselves keeps payments from being sent.
  world = await startSendingWorld({ settings: { SWEEP_INTERVAL_SECONDS: '3600' } })
  ;({ peers, peer, provider, name } = world)
  const target = `127.0.0.1:${String(world.auth.port)}`
  connection = connectAuthServer({ target, deadlineMs: 5_000, messageBytesMax: 1_048_576 })
  // The database has been on an earlier timeline, so that the present one may lack commits.
  await recordFormerIncarnation(world.database)
  await sweep()
})
beforeEach(async () => {
  peer.packetLimitValue = undefined
  peer.handle = undefined
  provider.answer('payment')
  receiver = world.ask()
  // What is made from now on is from after the change.
  await world.database.query(
    `update database_incarnation set may_lose = true, first_seen_at = now() - interval '1 minute' where timeline_id <> 0`
  )
})
afterAll(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  connection.close()
  await world.stop()
})

const BUSY = { type: 'reject', code: 'T00', triggeredBy: '', message: '', data: Buffer.alloc(0) } as const
const LOST = { arrived: false, arrivedValue: '' }
const ARRIVED = { arrived: true, arrivedValue: '' }
const pathOf = (created: Answer): string => created.textAt('id').slice(PUBLIC_URL.length)
const idOf = (created: Answer): string => created.textAt('id').slice(-36)

const payQuote = async (quoteId: string): Promise<Answer> => {
  const created = await world.payQuote(quoteId)
  expect(created.status).toBe(201)
  return created
}
const quote = async (value = 1_000n): Promise<string> =>
  (await world.quote({ debitAmount: usd(value) })).textAt('id')

/** Looks what may be lost, as the service does from time to time. */
const sweep = () =>
  sweepOrphans(
    { pageSize: 1_000, pageToken: undefined },
    {
      database: openDatabase(world.server.pool),
      clock: world.clock,
      random: systemRandom,
      keepsCommits: false,
      grantLimits: createGrantLimits(connection.grantLimits, { deadlineMs: 5_000 }),
      orphanAgeSeconds: 3_600,
      holdsFrozen: true,
      logger: createLogger({ service: 'other-replica', level: 'silent' }),
      counters: { countGivenUp: () => undefined }
    }
  )

/** A payment of 1,000: pending, or begun and lost with what was sent after the first of its packets was fulfilled. */
async function underWay(isBegun: boolean): Promise<Answer> {
  if (isBegun) peer.packetLimitValue = 300n
  const quoteId = await quote()
  if (!isBegun) {
    // The most that may be owed: none of what is pending is begun while it is reached.
    await world.limit(String(await world.owed()))
    return payQuote(quoteId)
  }
  let left = 1
  peer.handle = ({ amount }, answer) => {
    if (amount > 300n) return answer()
    left -= 1
    return left < 0 ? Promise.resolve(BUSY) : answer()
  }
  const created = await payQuote(quoteId)
  const values = [idOf(created)]
  const fulfilled = `select 1 from sent_packet where payment_id = $1 and outcome = 'fulfilled'`
  await until(async () => (await world.database.query(fulfilled, values)).length > 0)
  await world.database.query(
    `update sending set leased_by = null, leased_until = null, due_at = '2099-01-01' where payment_id = $1`,
    values
  )
  await world.database.query(
    `delete from sent_packet where payment_id = $1 and outcome <> 'fulfilled'`,
    values
  )
  return created
}

/** Moves the instant from which a payment is, so that it is from before the database's timeline changed, or is not. */
async function move(created: Answer, days: number): Promise<void> {
  const sql = `update outgoing_payment set created_at = created_at + $2 * interval '1 day' where id = $1`
  await world.database.query(sql, [idOf(created), days])
}
/** Has it be from before, as far as it is written down. */
async function loseCommitsSince(created: Answer): Promise<void> {
  const sql = `update sending set known_since = now() - interval '1 hour' where payment_id = $1`
  await world.database.query(sql, [idOf(created)])
  await move(created, -1)
}
/**
 * Lets whoever looks begin a payment from before, or go on with it. Resolves once somebody has: others are paid, and the second of them is begun
 * in a round after that of the first.
 */
async function whenLookedFor(created: Answer, payableLimitValue = UNREACHED): Promise<void> {
  peer.handle = undefined
  const sql = `update sending set due_at = '2000-01-01' where payment_id = $1 and leased_by is null`
  await world.database.query(sql, [idOf(created)])
  await whenOthersArePaid(payableLimitValue)
}
async function whenOthersArePaid(payableLimitValue: string): Promise<void> {
  await world.limit(payableLimitValue)
  for (let count = 0; count < 2; count += 1) {
    const id = randomUUID()
    const url = provider.add(id, { incomingAmount: undefined, methods: [peer.methodOf(id, USD)] })
    const other = await world.pay(url, OTHER_VALUE, { walletAddress: BOB })
    expect((await world.whenEnded(other.textAt('id'))).at('sentAmount')).toEqual(usd(OTHER_VALUE))
  }
}
const sendingOf = async (created: Answer) =>
  (
    await world.database.query<{ leased_by: string | null; due_at: Date | null; attempts: number }>(
      'select leased_by, due_at, attempts from sending where payment_id = $1',
      [idOf(created)]
    )
  )[0]

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(TICK_MS)
}

/** As if its commits had reached no standby: nothing here knows of it, and the auth server does. */
async function loseEverythingOf(created: Answer): Promise<void> {
  const id = `'${idOf(created)}'`
  await world.database.query(`
    update account a set debits_posted = a.debits_posted - t.debit, credits_posted = a.credits_posted - t.credit
      from (select account_id, sum(debit) as debit, sum(credit) as credit
              from (select debit_account_id as account_id, posted_amount as debit, 0 as credit, id, payment_id from transfer
                    union all select credit_account_id, 0, posted_amount, id, payment_id from transfer) both_sides
             where payment_id = ${id} or id in (select id from sent_packet where payment_id = ${id}) group by account_id) t
     where a.id = t.account_id and a.kind::text in ('wallet', 'peer_payable');
    delete from transfer where payment_id = ${id} or id in (select id from sent_packet where payment_id = ${id});
    delete from sent_packet where payment_id = ${id};
    delete from grant_reservation where payment_id = ${id};
    delete from payment_approval where payment_id = ${id};
    delete from outgoing_payment where id = ${id};
    update database_incarnation set first_seen_at = now() where timeline_id <> 0`)
}

/** The packets of a payment of which nothing is known, once it was looked what may be lost. By then they can be decided about. */
async function unknownOf(created: Answer): Promise<readonly wallet.UnknownPacket[]> {
  await sweep()
  await move(created, 1)
  world.aheadMs += DECIDABLE_AFTER_MS
  await world.whenAhead()
  const { packets } = await peers.operate('listUnknownPackets', { name, pageSize: 0, pageToken: '' })
  return packets.filter(({ payment }) => payment === created.textAt('id'))
}

/** What stands for what is not known of a payment. */
async function standIn(created: Answer): Promise<wallet.UnknownPacket> {
  const found = (await unknownOf(created)).find(({ standsForLost }) => standsForLost)
  if (found === undefined) throw new Error('nothing stands for what is not known')
  return found
}

/** Decides about a packet, once nobody looks at its payment just then. */
async function decide(
  condition: string,
  decision: { readonly arrived: boolean; readonly arrivedValue: string }
): Promise<void> {
  for (;;) {
    try {
      await peers.operate('decidePacket', { name, condition, ...decision })
      return
    } catch (error) {
      if (!String(error).includes('is being sent now')) throw error
      await delay(TICK_MS)
    }
  }
}

/** A payment that meets a rule of the provider. */
async function awaitingApproval(
  value = 1_000n
): Promise<{ readonly created: Answer; readonly outgoingPayment: string }> {
  const rule = { aboveValue: '', walletAddress: '', firstPayee: false, method: 'ilp', client: '' }
  const made = await world.operate('createApprovalRule', rule)
  const created = await payQuote(await quote(value))
  await world.operate('deleteApprovalRule', { ruleId: String(made.rule?.id) })
  return { created, outgoingPayment: created.textAt('id') }
}

/** Has the auth server say how a payment ended. */
function endReservation(created: Answer, state: 'settled' | 'released', value: bigint): void {
  const reservation = world.limits.reservations.get(idOf(created))
  if (reservation === undefined) throw new Error('nothing was reserved')
  Object.assign(reservation, { state, debited: value, received: value })
}

/** Has the auth server agree with what became of a payment here: until then, the audit names it. */
async function agreeAbout(created: Answer, value: bigint): Promise<void> {
  expect(await world.audit()).toEqual([
    expect.stringMatching(`^payment ${idOf(created)}: here .*, at the auth server`)
  ])
  endReservation(created, value === 0n ? 'released' : 'settled', value)
  await world.database.query('update grant_reservation set next_attempt_at = now() where payment_id = $1', [
    idOf(created)
  ])
  await world.whenDelivered()
}

/** Resolves once somebody looked whether a payment may be sent, and put it off. */
async function whenPutOff(created: Answer): Promise<void> {
  await until(async () => {
    const sending = await sendingOf(created)
    if (sending === undefined) throw new Error('it has ended')
    return sending.leased_by === null && (sending.due_at?.getTime() ?? 0) > world.clock.now() + 30_000
  })
  expect(await sendingOf(created)).toMatchObject({ attempts: 0 })
}
/** Has those that were put off looked at again. */
async function lookAgain(): Promise<void> {
  world.aheadMs += PUT_OFF_MS
  await world.whenAhead()
}
const reasonOf = async (created: Answer): Promise<string | undefined> =>
  (
    await world.database.query<{ failure_reason: string }>(
      'select failure_reason::text from outgoing_payment where id = $1',
      [idOf(created)]
    )
  )[0]?.failure_reason

describe('a payment to another provider, after the database lost commits', () => {
  it.each([
    ['nothing', false, { arrived: false, arrivedValue: '' }],
    ['all of it', false, { arrived: true, arrivedValue: '' }],
    ['a part of it', false, { arrived: true, arrivedValue: '400' }],
    ['nothing more than is written down', true, { arrived: false, arrivedValue: '' }],
    ['all that is not written down', true, { arrived: true, arrivedValue: '' }],
    ['a part of what is not written down', true, { arrived: true, arrivedValue: '100' }]
  ])('is not sent before somebody decided that %s had arrived', async (_what, isBegun, decision) => {
    const [before, owedBefore] = [await world.available('alice'), await world.owed()]
    const created = await underWay(isBegun)
    const known = peer.payment(receiver).receivedValue
    await loseCommitsSince(created)
    await whenLookedFor(created)
    const { condition, value } = await standIn(created)
    expect(value).toBe(String(1_000n - known))
    expect((await world.request('GET', pathOf(created))).at('sentAmount')).toEqual(usd(known))
    expect(peer.payment(receiver).receivedValue).toBe(known)

    await decide(condition, decision)
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(1_000) })
    const { arrived, arrivedValue } = decision
    const decided = !arrived ? 0n : arrivedValue === '' ? 1_000n - known : BigInt(arrivedValue)
    expect(peer.payment(receiver).receivedValue).toBe(1_000n - decided)
    expect(await world.owed()).toBe(owedBefore + 1_000n + 2n * OTHER_VALUE)
    expect(await world.available('alice')).toBe(before - 1_000n)
  })

  it.each([
    ['at once', ANY],
    ['within what its peer may be owed', UNREACHED]
  ])('is not begun %s before it was looked what may be lost', async (_how, payableLimitValue) => {
    const created = await underWay(false)
    await loseCommitsSince(created)
    await whenLookedFor(created, payableLimitValue)
    expect(await sendingOf(created)).toBeUndefined()
    await decide((await standIn(created)).condition, LOST)
    await world.whenEnded(created.textAt('id'))
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
  })

  it.each([
    ['nothing', LOST],
    ['all of it', ARRIVED]
  ])('is not sent twice if its request is repeated: %s had arrived', async (_what, decision) => {
    const [before, owedBefore] = [await world.available('alice'), await world.owed()]
    const headers = { 'idempotency-key': randomUUID() }
    const pay = () => world.pay(provider.url, 1_000n, {}, { headers, signature: { nonce: randomUUID() } })
    const created = await pay()
    await world.whenEnded(created.textAt('id'))
    await world.whenDelivered()
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
    await loseEverythingOf(created)
    expect([await world.available('alice'), await world.owed()]).toEqual([before, owedBefore])

    const again = await pay()
    expect([again.status, again.textAt('id')]).toEqual([201, created.textAt('id')])
    await whenLookedFor(created)
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
    const { condition } = await standIn(created)
    // Its row is new: only its reservation is from before.
    await move(created, -1)
    await decide(condition, decision)
    const sent = decision.arrived ? 1_000n : 0n
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(sent))
    // Whatever the operator says: its client was told that it ended.
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
    expect(await world.owed()).toBe(owedBefore + sent + 2n * OTHER_VALUE)
    expect(await world.available('alice')).toBe(before - sent)
    if (!decision.arrived) await agreeAbout(created, 0n)
  })

  it.each([
    ['released, and nothing had arrived', 'released', 0n, 0n],
    ['settled, and nothing had arrived', 'settled', 300n, 0n],
    ['released, and a part had arrived', 'released', 0n, 400n],
    ['settled, and as much had arrived', 'settled', 400n, 400n]
  ] as const)(
    'is sent no further if its end was told, which is lost: its reservation is %s',
    async (_what, state, told, sent) => {
      const [before, owedBefore] = [await world.available('alice'), await world.owed()]
      const created = await underWay(false)
      await loseCommitsSince(created)
      await whenLookedFor(created)
      const { condition } = await standIn(created)
      endReservation(created, state, told)
      await decide(condition, sent === 0n ? LOST : { arrived: true, arrivedValue: String(sent) })
      const ended = await world.whenEnded(created.textAt('id'))
      expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(sent) })
      expect(await reasonOf(created)).toBe(sent === 0n ? 'receiver_unreachable' : 'partially_delivered')
      expect(peer.payment(receiver).receivedValue).toBe(0n)
      expect(await world.owed()).toBe(owedBefore + sent + 2n * OTHER_VALUE)
      expect(await world.available('alice')).toBe(before - sent)
      if (told !== sent) await agreeAbout(created, sent)
    }
  )

  it('is not sent once it is approved again if its reservation has ended', async () => {
    const { created, outgoingPayment } = await awaitingApproval()
    await loseCommitsSince(created)
    const { condition } = await standIn(created)
    await decide(condition, LOST)
    endReservation(created, 'settled', 1_000n)
    await world.operate('approvePayment', { outgoingPayment, reason: '' })
    expect((await world.whenEnded(outgoingPayment)).body).toMatchObject({ failed: true, sentAmount: usd(0) })
    expect(peer.payment(receiver).receivedValue).toBe(0n)
    await agreeAbout(created, 0n)
  })

  it.each(['cannot be reached', 'has lost its reservation'])(
    'is not sent while the auth server %s',
    async (what) => {
      const created = await underWay(false)
      await loseCommitsSince(created)
      await whenLookedFor(created)
      const { condition } = await standIn(created)
      const { reservations } = world.limits
      const reservation = reservations.get(idOf(created))
      if (reservation === undefined) throw new Error('nothing was reserved')
      if (what === 'cannot be reached') {
        const refused = new RpcError({ code: status.UNAVAILABLE, message: 'away' })
        world.limits.beforeList = () => Promise.reject(refused)
      } else reservations.delete(idOf(created))
      await decide(condition, LOST)
      await whenPutOff(created)
      expect(peer.payment(receiver).receivedValue).toBe(0n)
      world.limits.beforeList = undefined
      reservations.set(idOf(created), reservation)
      await lookAgain()
      expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
      expect(peer.payment(receiver).receivedValue).toBe(1_000n)
    }
  )

  it('is not sent if no money is held for it', async () => {
    const before = await world.available('alice')
    const { created, outgoingPayment } = await awaitingApproval(UNPAYABLE)
    await loseCommitsSince(created)
    const { condition } = await standIn(created)
    await decide(condition, LOST)
    await world.operate('approvePayment', { outgoingPayment, reason: '' })
    expect((await world.whenEnded(outgoingPayment)).body).toMatchObject({ failed: true, sentAmount: usd(0) })
    expect(await reasonOf(created)).toBe('insufficient_funds')
    expect(peer.payment(receiver).receivedValue).toBe(0n)
    expect(await world.available('alice')).toBe(before)
  })

  it('is paid by nobody if a part of it arrived, and no money is held for it: the audit names it', async () => {
    const [before, owedBefore] = [await world.available('alice'), await world.owed()]
    const { created, outgoingPayment } = await awaitingApproval(UNPAYABLE)
    await loseCommitsSince(created)
    const { condition } = await standIn(created)
    await world.operate('approvePayment', { outgoingPayment, reason: '' })
    await decide(condition, { arrived: true, arrivedValue: '400' })
    expect((await world.whenEnded(outgoingPayment)).body).toMatchObject({ failed: true, sentAmount: usd(0) })
    expect(await world.available('alice')).toBe(before)
    expect(await world.owed()).toBe(owedBefore + 400n)
    const findTold = async () => {
      const sql = 'select type from event where subject_id = $1'
      return (await world.database.query<{ type: string }>(sql, [idOf(created)])).map(({ type }) => type)
    }
    await until(async () => (await findTold()).includes('outgoing_payment.failed'))
    expect(await findTold()).not.toContain('outgoing_payment.partially_sent')
    // Debits equal credits, and every account is what its transfers are.
    expect(await world.audit()).toEqual([
      `payment ${idOf(created)}: insufficient_funds with 0 received; 400 of ${UNPAYABLE} was or may have been sent, 400 of ${UNPAYABLE} was delivered`
    ])
    await loseEverythingOf(created)
    world.limits.reservations.delete(idOf(created))
  })

  it.each([
    ['is sent once there is', 1_000n],
    ['fails if its terms no longer stand before', 0n]
  ])('waits for room with its peer, since it may not have begun, and %s', async (_what, sent) => {
    const owedBefore = await world.owed()
    const waiting = [await underWay(false), await payQuote(await quote())]
    for (const created of waiting) await loseCommitsSince(created)
    for (const created of waiting) await decide((await standIn(created)).condition, LOST)
    for (const created of waiting) await whenPutOff(created)
    expect(peer.payment(receiver).receivedValue).toBe(0n)

    await world.limit(String(owedBefore + 1_500n))
    await lookAgain()
    const findEnded = () =>
      Promise.all(waiting.map(async (created) => (await sendingOf(created)) === undefined))
    await until(async () => (await findEnded()).includes(true))
    const isEnded = await findEnded()
    const second = waiting[isEnded.indexOf(false)]
    if (second === undefined) throw new Error('both were sent')
    await whenPutOff(second)
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
    expect(await world.owed()).toBe(owedBefore + 1_000n)

    if (sent > 0n) await world.limit(UNREACHED)
    else {
      const over = `update outgoing_payment set begin_until = now() - interval '1 hour' where id = $1`
      await world.database.query(over, [idOf(second)])
    }
    await lookAgain()
    expect((await world.whenEnded(second.textAt('id'))).at('sentAmount')).toEqual(usd(sent))
    expect(await reasonOf(second)).toBe(sent === 0n ? 'receiver_unreachable' : null)
    expect(peer.payment(receiver).receivedValue).toBe(1_000n + sent)
    await world.limit(ANY)
  })

  it('goes on without room with its peer if something of it arrived', async () => {
    const created = await underWay(true)
    await loseCommitsSince(created)
    const { condition } = await standIn(created)
    peer.handle = undefined
    await world.limit(String(await world.owed()))
    await decide(condition, LOST)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
    await world.limit(ANY)
  })

  it('is not given up before it was looked what may be lost, though its terms no longer stand', async () => {
    const created = await underWay(false)
    await loseCommitsSince(created)
    const over = `update outgoing_payment set begin_until = now() - interval '1 minute' where id = $1`
    await world.database.query(over, [idOf(created)])
    await whenLookedFor(created)
    expect((await world.request('GET', pathOf(created))).at('failed')).toBe(false)
    await decide((await standIn(created)).condition, ARRIVED)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
  })

  it('is taken by nobody before it was looked what may be lost', async () => {
    const created = await underWay(true)
    await loseCommitsSince(created)
    // A packet of the attempt before may still come, but no probe does.
    const probes = () =>
      peer.packets.filter((packet) => peer.paymentIdOf(packet) === receiver && isProbe(packet)).length
    const before = probes()
    await whenLookedFor(created)
    expect([await sendingOf(created), probes()]).toMatchObject([{ leased_by: null }, before])
    await decide((await standIn(created)).condition, LOST)
    await world.whenEnded(created.textAt('id'))
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
  })

  it('is sent no further by who sends it before it was looked what may be lost', async () => {
    peer.packetLimitValue = 300n
    const quoteId = await quote()
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    peer.handle = async ({ amount }, answer) => {
      if (amount > 300n) return answer()
      const reply = await answer()
      await held
      return reply
    }
    const created = await payQuote(quoteId)
    await until(() => Promise.resolve(peer.payment(receiver).receivedValue > 0n))
    await loseCommitsSince(created)
    release()
    await whenLookedFor(created)
    expect(peer.payment(receiver).receivedValue).toBe(300n)
    const unknown = await unknownOf(created)
    expect(unknown).toMatchObject([
      { standsForLost: true, value: '300' },
      { standsForLost: true, value: '700' }
    ])
    for (const { condition, value } of unknown) await decide(condition, value === '700' ? LOST : ARRIVED)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
  })

  it('is not ended by who sends it before it was looked what may be lost', async () => {
    const quoteId = await quote()
    // So that the receiver is read again.
    world.aheadMs += 10_000
    await world.whenAhead()
    const waiting: ServerResponse[] = []
    provider.answer('payment', (response) => {
      waiting.push(response)
    })
    const created = await payQuote(quoteId)
    await until(() => Promise.resolve(waiting.length > 0))
    await loseCommitsSince(created)
    // As the attempt sees it, nothing was delivered, and nothing can be.
    const completed = JSON.stringify({ ...provider.payment, completed: true, methods: undefined })
    for (const one of waiting) one.setHeader('content-type', 'application/json').end(completed)
    provider.answer('payment')
    await whenLookedFor(created)
    expect((await world.request('GET', pathOf(created))).at('failed')).toBe(false)
    await decide((await standIn(created)).condition, ARRIVED)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
  })

  it.each([
    ['all of it', ARRIVED, 0n],
    ['a part of it', { arrived: true, arrivedValue: '400' }, 600n],
    ['nothing', LOST, 1_000n]
  ])(
    'is sent as is decided, though a packet that was rejected is unknown again: %s had arrived in its place',
    async (_what, decision, sentAgain) => {
      const owedBefore = await world.owed()
      const quoteId = await quote()
      let release: () => void = () => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const sent: { readonly condition: string; readonly amount: bigint }[] = []
      peer.handle = async ({ executionCondition, amount }, answer) => {
        sent.push({ condition: executionCondition.toString('base64url'), amount })
        if (sent.length === 1) return BUSY
        const reply = await answer()
        await held
        return reply
      }
      const created = await payQuote(quoteId)
      await until(() => Promise.resolve(sent.length === 2))
      expect(sent.map(({ amount }) => amount)).toEqual([1_000n, 1_000n])
      // The commit is lost that had the answer to the first, and the second.
      const id = `'${idOf(created)}'`
      await world.database.query(`
        update sending set leased_by = null, leased_until = null, due_at = '2099-01-01' where payment_id = ${id};
        delete from sent_packet where payment_id = ${id} and sequence = 1;
        update sent_packet set outcome = 'unknown', code = null, answered_at = null where payment_id = ${id}`)
      await loseCommitsSince(created)
      release()
      await whenLookedFor(created)
      const unknown = await unknownOf(created)
      expect(unknown).toMatchObject([{ standsForLost: true, value: '1000', condition: sent[0]?.condition }])
      await decide(unknown[0]?.condition ?? '', decision)
      expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
      expect(peer.payment(receiver).receivedValue).toBe(1_000n + sentAgain)
      expect(await world.owed()).toBe(owedBefore + 1_000n + 2n * OTHER_VALUE)
    }
  )

  it('brings what its terms want, also if a packet is lost of which nothing is known and that would bring more', async () => {
    peer.rateThousandths = 960n
    const created = await underWay(true)
    const of = idOf(created)
    // What is written down sent 301 of 1000, of which 955 are to arrive: 288 have, and one more where the terms want 0.955.
    await world.database.query(
      `insert into sent_packet (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, sent_at, expires_at)
       select gen_random_uuid(), payment_id, 99, peer_id, sha256('one more'), 1, 1, now(), now() from sent_packet where payment_id = $1`,
      [of]
    )
    await loseCommitsSince(created)
    await whenLookedFor(created)
    const [one, rest] = (await unknownOf(created)).toSorted(
      (left, right) => Number(left.value) - Number(right.value)
    )
    expect([one?.value, rest?.value]).toEqual(['1', '699'])
    const [packet] = await world.database.query<{ least: string }>(
      'select deliver_min_value::text as least from sent_packet where payment_id = $1 and send_value = 699',
      [of]
    )
    expect(packet).toEqual({ least: '667' })
    await decide(rest?.condition ?? '', ARRIVED)
    await decide(one?.condition ?? '', LOST)
    peer.rateThousandths = 1_000n
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
  })

  it('waits for what is decided about its packets if all of it is written down', async () => {
    const quoteId = await quote()
    peer.handle = async (_prepare, answer) => {
      const reply = await answer()
      // It ended then, which the database has lost.
      await world.database.query('update sending set leased_by = null, leased_until = null, due_at = null')
      return reply
    }
    const created = await payQuote(quoteId)
    await until(async () => {
      const sql = `select 1 from sent_packet where payment_id = $1 and outcome = 'unknown'`
      return (await world.database.query(sql, [idOf(created)])).length > 0
    })
    await loseCommitsSince(created)
    const unknown = await unknownOf(created)
    expect(unknown).toMatchObject([{ standsForLost: true, value: '1000' }])
    const [{ condition } = { condition: '' }] = unknown
    expect(await sendingOf(created)).toMatchObject({ leased_by: null, due_at: null })
    await decide(condition, ARRIVED)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: false,
      sentAmount: usd(1_000)
    })
  })

  it('waits in a dump that is restored to the same cluster, whose timeline is the same', async () => {
    const created = await underWay(false)
    // As a restored dump does: the table is another one with the same rows.
    await world.database.query(`
      create table restored (like database_incarnation including all);
      insert into restored select * from database_incarnation;
      drop table database_incarnation;
      alter table restored rename to database_incarnation`)
    await world.limit(UNREACHED)
    await sweep()
    await whenOthersArePaid(UNREACHED)
    expect([await sendingOf(created), peer.payment(receiver).receivedValue]).toMatchObject([
      { leased_by: null },
      0n
    ])
    await move(created, -1)
    await decide((await standIn(created)).condition, ARRIVED)
    expect((await world.whenEnded(created.textAt('id'))).at('sentAmount')).toEqual(usd(1_000))
    expect(peer.payment(receiver).receivedValue).toBe(0n)
  })

  it('goes on by itself where a promoted server has every commit', async () => {
    const created = await underWay(false)
    await world.database.query('update database_incarnation set may_lose = false where timeline_id <> 0')
    await loseCommitsSince(created)
    await world.limit(UNREACHED)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: false,
      sentAmount: usd(1_000)
    })
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
    await move(created, 1)
  })

  it.each([
    ['is not over', false],
    ['is over', true]
  ])(
    'is not declined if it was approved and sent, which is lost: the time to decide %s',
    async (_what, isOver) => {
      const [before, owedBefore] = [await world.available('alice'), await world.owed()]
      const { created, outgoingPayment } = await awaitingApproval()
      let release: () => void = () => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      peer.handle = async (_prepare, answer) => {
        const reply = await answer()
        await held
        return reply
      }
      await world.operate('approvePayment', { outgoingPayment, reason: '' })
      await until(() => Promise.resolve(peer.payment(receiver).receivedValue === 1_000n))
      const id = `'${idOf(created)}'`
      await world.database.query(`
      delete from sent_packet where payment_id = ${id};
      delete from sending where payment_id = ${id};
      update outgoing_payment set state = 'awaiting_approval' where id = ${id};
      update payment_approval set decision = null, decided_at = null, decided_by = null where payment_id = ${id}`)
      await loseCommitsSince(created)
      if (isOver)
        await world.database.query(`
update payment_approval set expires_at = requested_at + interval '1 millisecond' where payment_id = ${id}`)
      release()
      const decline = () => world.operate('declinePayment', { outgoingPayment, reason: '' })
      await expect(decline()).rejects.toThrow('before the database lost commits')
      await whenLookedFor(created)
      const { condition, value } = await standIn(created)
      expect(value).toBe('1000')
      await expect(decline()).rejects.toThrow('before the database lost commits')
      await expect(decide(condition, ARRIVED)).rejects.toThrow('approve it first')
      expect(await world.audit()).toEqual([])

      await world.operate('approvePayment', { outgoingPayment, reason: '' })
      await decide(condition, ARRIVED)
      expect((await world.whenEnded(outgoingPayment)).at('sentAmount')).toEqual(usd(1_000))
      expect(peer.payment(receiver).receivedValue).toBe(1_000n)
      expect(await world.owed()).toBe(owedBefore + 1_000n + 2n * OTHER_VALUE)
      expect(await world.available('alice')).toBe(before - 1_000n)
    }
  )

  it.each(['approved', 'declined'])(
    'can be %s once nothing of it is known to have arrived',
    async (decision) => {
      const before = await world.available('alice')
      const { created, outgoingPayment } = await awaitingApproval()
      await loseCommitsSince(created)
      const { condition } = await standIn(created)
      await decide(condition, LOST)
      await whenOthersArePaid(UNREACHED)
      expect([await sendingOf(created), peer.payment(receiver).receivedValue]).toMatchObject([
        { due_at: null },
        0n
      ])
      await world.operate(decision === 'approved' ? 'approvePayment' : 'declinePayment', {
        outgoingPayment,
        reason: ''
      })
      await world.whenEnded(outgoingPayment)
      const sent = decision === 'approved' ? 1_000n : 0n
      expect(peer.payment(receiver).receivedValue).toBe(sent)
      expect(await world.available('alice')).toBe(before - sent)
      expect(await sendingOf(created)).toBeUndefined()
    }
  )

  it.each([
    ['more than may have been sent', { arrived: true, arrivedValue: '1001' }],
    ['nothing, which did arrive', { arrived: true, arrivedValue: '0' }],
    ['a part, of what did not arrive', { arrived: false, arrivedValue: '1' }],
    ['no number', { arrived: true, arrivedValue: '-1' }]
  ])('is not decided about with %s', async (_what, decision) => {
    const created = await underWay(false)
    await loseCommitsSince(created)
    const { condition } = await standIn(created)
    await expect(decide(condition, decision)).rejects.toThrow('arrived_value')
    await world.limit(UNREACHED)
    expect(peer.payment(receiver).receivedValue).toBe(0n)
    await decide(condition, LOST)
    await world.whenEnded(created.textAt('id'))
    expect(peer.payment(receiver).receivedValue).toBe(1_000n)
  })
})
