import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, createClient, RpcError, status } from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import { ALICE, BOB, PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

/** How long a payment awaits approval here. */
const TIMEOUT_SECONDS = 1_000

let world: PaymentWorld
beforeAll(async () => {
  world = await startPaymentWorld({ settings: { APPROVAL_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS) } })
})
afterAll(() => world.stop())
afterEach(async () => {
  await world.database.query('delete from approval_rule')
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})

const ANY: wallet.CreateApprovalRuleRequest = {
  aboveValue: '',
  walletAddress: '',
  client: '',
  firstPayee: false,
  method: ''
}

/** Creates a rule; answers its id. */
async function rule(conditions: Partial<wallet.CreateApprovalRuleRequest>): Promise<string> {
  const created = await world.operate('createApprovalRule', { ...ANY, ...conditions })
  return String(created.rule?.id)
}

const show = async (url: string): Promise<wallet.OutgoingPayment> => {
  const { payment } = await world.operate('getOutgoingPayment', { outgoingPayment: url })
  if (payment === undefined) throw new Error('answered without a payment')
  return payment
}
const stateOf = async (url: string): Promise<string | undefined> => (await show(url)).payment?.state
const approve = (url: string, reason = '') =>
  world.operate('approvePayment', { outgoingPayment: url, reason }).then(({ payment }) => payment)
const decline = (url: string, reason = '') =>
  world.operate('declinePayment', { outgoingPayment: url, reason }).then(({ payment }) => payment)

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) =>
      error instanceof RpcError
        ? `${status[error.code]} ${String(error.field)}: ${error.message}`
        : String(error)
  )

/** Creates a payment; answers its URL. */
async function pay(value: bigint | number, receiver?: string): Promise<string> {
  const answer = await world.pay(receiver ?? (await world.createReceiver()), value)
  expect(answer.status).toBe(201)
  return answer.textAt('id')
}

/** Creates a payment that awaits approval; answers its URL. */
async function waiting(value: bigint | number, receiver?: string): Promise<string> {
  const id = await rule({ aboveValue: '0' })
  const url = await pay(value, receiver)
  await world.operate('deleteApprovalRule', { ruleId: id })
  expect(await stateOf(url)).toBe('awaiting_approval')
  return url
}

const read = (url: string, headers: Record<string, string> = {}): Promise<Answer> =>
  world.request('GET', url.slice(PUBLIC_URL.length), { headers })

/** The types of the events of a payment, with the states that they tell of. */
async function told(url: string): Promise<string[]> {
  for (;;) {
    const [row] = await world.database.query<{ count: number }>(
      'select count(*)::int as count from event_outbox'
    )
    if (row?.count === 0) break
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const client = createClient(events.EventServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 4_194_304
  })
  const { events: all } = await callUnary(
    client,
    'listEvents',
    { afterCursor: '', types: [], pageSize: 1_000 },
    { idempotent: true }
  )
  client.close()
  return all
    .filter(({ subject }) => subject === url)
    .map(
      ({ type, data }) =>
        `${type.split('.')[1] ?? ''}: ${(JSON.parse(data) as { state?: string }).state ?? ''}`
    )
}

const reservationOf = (url: string) => world.limits.reservations.get(url.slice(-36))

describe('a payment that meets a rule', () => {
  it('awaits approval: nothing processes it, and its money and its reservation are taken', async () => {
    const before = await world.available('alice')
    const url = await waiting(500)
    // Longer than the poll of every worker.
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    expect(await stateOf(url)).toBe('awaiting_approval')
    expect(await world.available('alice')).toBe(before - 500n)
    expect(reservationOf(url)).toMatchObject({ state: 'open' })
    expect(await told(url)).toEqual(['created: awaiting_approval', 'awaiting_approval: awaiting_approval'])
    expect((await read(url)).body).toMatchObject({
      state: 'awaiting_approval',
      failed: false,
      sentAmount: usd(0)
    })
    const published = await read(url, { accept: 'application/json' })
    expect(published.body).toMatchObject({ failed: false, sentAmount: usd(0) })
    expect(published.body).not.toHaveProperty('state')
    expect((await show(url)).approval).toMatchObject({ decision: '', decidedBy: '' })
    const { payments } = await world.operate(
      'listPayments',
      wallet.ListPaymentsRequest.fromPartial({
        kind: wallet.PaymentKind.PAYMENT_KIND_OUTGOING,
        walletAddress: '',
        pageSize: 1,
        pageToken: ''
      })
    )
    expect(payments).toMatchObject([{ state: 'awaiting_approval' }])
    await decline(url)
  })

  it('is processed at once when it is approved', async () => {
    const before = await world.available('bob')
    const url = await waiting(500)
    const changed = (await read(url)).at('updatedAt')
    world.clock.advanceSeconds(1)
    expect(await approve(url, 'known customer')).toMatchObject({
      approval: { decision: 'approved', reason: 'known customer', decidedBy: '' }
    })
    const ended = await world.whenEnded(url)
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(500) })
    expect(ended.body).not.toHaveProperty('state')
    expect(ended.at('updatedAt')).not.toBe(changed)
    expect(await world.available('bob')).toBe(before + 500n)
    expect(await told(url)).toEqual([
      'created: awaiting_approval',
      'awaiting_approval: awaiting_approval',
      'processing: ',
      'completed: '
    ])
    await world.whenDelivered()
    expect(reservationOf(url)).toMatchObject({ state: 'settled', debited: 500n })
  })

  it('fails when it is declined, and gives back its money and its reservation', async () => {
    const before = await world.available('alice')
    const url = await waiting(500)
    expect(await decline(url, 'looks like fraud')).toMatchObject({
      payment: { state: 'failed', failureReason: 'declined_by_provider', movedValue: '0' },
      approval: { decision: 'declined', reason: 'looks like fraud' }
    })
    expect(await world.available('alice')).toBe(before)
    expect((await read(url)).body).toMatchObject({
      failed: true,
      failureReason: 'declined_by_provider',
      sentAmount: usd(0)
    })
    expect(await told(url)).toEqual([
      'created: awaiting_approval',
      'awaiting_approval: awaiting_approval',
      'failed: '
    ])
    await world.whenDelivered()
    expect(reservationOf(url)).toMatchObject({ state: 'released' })
  })

  it('is declined when nobody decides in time', async () => {
    const before = await world.available('alice')
    const url = await waiting(500)
    world.clock.advanceSeconds(TIMEOUT_SECONDS)
    while ((await stateOf(url)) === 'awaiting_approval')
      await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await show(url)).toMatchObject({
      payment: { state: 'failed', failureReason: 'declined_by_provider' },
      approval: { decision: 'timed_out', decidedBy: '', reason: '' }
    })
    expect(await world.available('alice')).toBe(before)
    expect((await decline(url, 'too late'))?.approval).toMatchObject({ decision: 'timed_out', reason: '' })
    expect(await refusalOf(approve(url))).toMatch(
      /^FAILED_PRECONDITION outgoing_payment: the payment was declined at .*, because nobody decided in time$/
    )
    await world.whenDelivered()
    expect(reservationOf(url)).toMatchObject({ state: 'released' })
  })

  it('cannot be approved after its time, even if nothing has declined it yet', async () => {
    const url = await waiting(500)
    world.clock.advanceSeconds(TIMEOUT_SECONDS)
    expect(await refusalOf(approve(url))).toMatch(/because nobody decided in time$/)
    expect(await show(url)).toMatchObject({
      payment: { state: 'failed' },
      approval: { decision: 'timed_out' }
    })
  })

  it('is decided once: the same answer again is the same, another one is refused and changes nothing', async () => {
    const [approved, refused] = [await waiting(100), await waiting(100)]
    await approve(approved, 'first')
    await world.whenEnded(approved)
    expect(await approve(approved, 'second')).toMatchObject({
      payment: { state: 'completed' },
      approval: { decision: 'approved', reason: 'first' }
    })
    expect(await refusalOf(decline(approved))).toMatch(
      /^FAILED_PRECONDITION outgoing_payment: the payment was approved at \d{4}-/
    )
    expect(await stateOf(approved)).toBe('completed')
    const first = await decline(refused, 'first')
    expect(await decline(refused, 'second')).toEqual(first)
    expect(await refusalOf(approve(refused))).toMatch(
      /^FAILED_PRECONDITION outgoing_payment: the payment was declined at \d{4}-/
    )
    expect(await show(refused)).toEqual(first)
  })

  it('has one outcome when everybody decides at once', async () => {
    const before = await world.available('alice')
    const urls = await Promise.all(
      (await Promise.all(Array.from({ length: 12 }, () => world.createReceiver()))).map(async (receiver) => {
        const id = await rule({ aboveValue: '0' })
        const url = await pay(100, receiver)
        await world.operate('deleteApprovalRule', { ruleId: id })
        return url
      })
    )
    const decided = await Promise.all(
      urls.map(async (url, index) => {
        // The last third is decided about as its time ends.
        if (index === 8) world.clock.advanceSeconds(TIMEOUT_SECONDS)
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, turn) => (turn % 2 === 0 ? approve(url) : decline(url))).map((call) =>
            call.then(
              (payment) => payment?.approval?.decision,
              () => undefined
            )
          )
        )
        return new Set(answers.filter((answer) => answer !== undefined))
      })
    )
    expect(decided.map(({ size }) => size <= 1)).toEqual(urls.map(() => true))
    await Promise.all(urls.map((url) => world.whenEnded(url)))
    await world.whenDelivered()
    const shown = await Promise.all(urls.map(show))
    const sent = shown.filter(({ payment }) => payment?.state === 'completed')
    for (const { payment, approval } of shown)
      expect(payment?.state).toBe(approval?.decision === 'approved' ? 'completed' : 'failed')
    expect(await world.available('alice')).toBe(before - BigInt(sent.length) * 100n)
    for (const url of urls) expect(await told(url)).toHaveLength((await stateOf(url)) === 'completed' ? 4 : 3)
  })

  it('fails as others do when its receiver expired or was completed meanwhile', async () => {
    const [expired, completed] = [
      await world.createReceiver({ expiresAt: new Date(world.clock.now() + 10_000).toISOString() }),
      await world.createReceiver()
    ]
    const [late, early] = [await waiting(100, expired), await waiting(100, completed)]
    world.clock.advanceSeconds(10)
    await world.request('POST', `${completed.slice(PUBLIC_URL.length)}/complete`)
    for (const [url, reason] of [
      [late, 'receiver_expired'],
      [early, 'receiver_completed']
    ] as const) {
      expect((await approve(url))?.approval?.decision).toBe('approved')
      expect((await world.whenEnded(url)).body).toMatchObject({ failed: true, failureReason: reason })
    }
  })

  it('without the money fails once it is approved, and declining it gives nothing back', async () => {
    const before = await world.available('alice')
    const [approved, refused] = [await waiting(before + 1n), await waiting(before + 1n)]
    expect(await world.available('alice')).toBe(before)
    await approve(approved)
    expect((await world.whenEnded(approved)).body).toMatchObject({ failureReason: 'insufficient_funds' })
    await decline(refused)
    expect(await world.available('alice')).toBe(before)
  })

  it('is answered the same when it is repeated', async () => {
    const id = await rule({ aboveValue: '0' })
    const receiver = await world.createReceiver()
    const options = { headers: { 'idempotency-key': randomUUID() } }
    const first = await world.pay(receiver, 100, {}, options)
    const again = await world.pay(receiver, 100, {}, options)
    expect([again.status, again.text]).toEqual([201, first.text])
    await world.operate('deleteApprovalRule', { ruleId: id })
    expect(await stateOf(first.textAt('id'))).toBe('awaiting_approval')
    await decline(first.textAt('id'))
  })

  it('does not make the audit complain about its reservation, which stays open', async () => {
    const url = await waiting(100)
    const reservation = reservationOf(url)
    if (reservation === undefined) throw new Error('nothing was reserved')
    reservation.createdAt = new Date(reservation.createdAt.getTime() - 700_000)
    expect(await world.audit(600)).toEqual([])
    await approve(url)
    await world.whenEnded(url)
  })
})

describe('a refund by payment that meets a rule', () => {
  /** Pays bob, who refunds all of it by a payment that awaits approval; answers the URLs of both payments. */
  async function refunding(value: number): Promise<{ paid: string; refund: string }> {
    const paid = await pay(value)
    await world.whenEnded(paid)
    const receiver = await world.createReceiver({ walletAddress: ALICE })
    const id = await rule({ aboveValue: '0' })
    const answer = await world.pay(receiver, value, { walletAddress: BOB, refundOf: paid })
    expect(answer.status).toBe(201)
    await world.operate('deleteApprovalRule', { ruleId: id })
    const refund = answer.textAt('id')
    expect(await stateOf(refund)).toBe('awaiting_approval')
    return { paid, refund }
  }
  const refundOf = async (paid: string): Promise<[refunded: unknown, states: string[]]> => {
    const { refunds } = await world.operate('listRefunds', { refundOf: paid, pageSize: 0, pageToken: '' })
    return [(await read(paid)).at('refundedAmount'), refunds.map(({ state }) => state)]
  }
  const refundByProvider = (url: string) =>
    world.operate('createRefund', { refundOf: url, value: '1', idempotencyKey: '', returnsFee: false })

  it('awaits approval as any other, and is refunded once it is approved', async () => {
    const before = await world.available('bob')
    const { paid, refund } = await refunding(500)
    expect(await refundOf(paid)).toEqual([usd(500), ['pending']])
    expect(await refusalOf(refundByProvider(paid))).toMatch(/^FAILED_PRECONDITION value: no more than 0/)
    expect(await world.audit()).toEqual([])
    await approve(refund)
    await world.whenEnded(refund)
    expect(await refundOf(paid)).toEqual([usd(500), ['completed']])
    expect(await world.available('bob')).toBe(before)
  })

  it('cannot be refunded itself until it has ended', async () => {
    const { refund } = await refunding(500)
    expect(await refusalOf(refundByProvider(refund))).toBe(
      'FAILED_PRECONDITION refund_of: the payment has not ended yet'
    )
    await decline(refund)
  })

  it('gives back all that it took of the bound when it is declined, or nobody decides in time', async () => {
    const before = await world.available('bob')
    const [declined, overdue] = [await refunding(500), await refunding(300)]
    await decline(declined.refund)
    world.clock.advanceSeconds(TIMEOUT_SECONDS)
    await decline(overdue.refund)
    for (const { paid, refund } of [declined, overdue]) {
      expect(await refundOf(paid)).toEqual([undefined, ['failed']])
      expect(await told(`urn:uuid:${refund.slice(-36)}`)).toEqual(['created: pending', 'failed: failed'])
    }
    expect(await world.available('bob')).toBe(before + 800n)
    await refundByProvider(declined.paid)
  })

  it('is declined while its payment is refunded, without a deadlock', async () => {
    const both: Awaited<ReturnType<typeof refunding>>[] = []
    for (let count = 0; count < 8; count += 1) both.push(await refunding(100))
    await Promise.all(
      both.flatMap(({ paid, refund }) => [
        decline(refund),
        ...Array.from({ length: 4 }, () => refundByProvider(paid).catch(() => undefined))
      ])
    )
    for (const { refund } of both) expect(await stateOf(refund)).toBe('failed')
  })
})

describe('the audit finds', () => {
  const UNDECIDED = 'decision = null, decided_at = null, reason = null'

  /** The violations of an audit between two statements about a payment, of which the second undoes the first. */
  async function violations(url: string, damage: string, mend: string): Promise<string> {
    const id = url.slice(-36)
    await world.database.query(damage, [id])
    const found = await world.audit()
    await world.database.query(mend, [id])
    expect(await world.audit()).toEqual([])
    return found.join('\n')
  }

  it('a payment that went without a decision', async () => {
    const url = await waiting(100)
    await approve(url)
    await world.whenEnded(url)
    expect(
      await violations(
        url,
        `update payment_approval set ${UNDECIDED} where payment_id = $1`,
        `update payment_approval set decision = 'approved', decided_at = requested_at where payment_id = $1`
      )
    ).toContain(`payment ${url.slice(-36)}: completed`)
  })

  it('a payment that waits although it was decided, and one that lost what it waits for', async () => {
    const url = await waiting(100)
    expect(
      await violations(
        url,
        `update payment_approval set decision = 'approved', decided_at = requested_at where payment_id = $1`,
        `update payment_approval set ${UNDECIDED} where payment_id = $1`
      )
    ).toContain(`payment ${url.slice(-36)}: awaiting_approval`)
    const [approval] = await world.database.query<{ rule_id: string }>(
      'select * from payment_approval where payment_id = $1',
      [url.slice(-36)]
    )
    expect(
      await violations(
        url,
        'delete from payment_approval where payment_id = $1',
        `insert into payment_approval (payment_id, rule_id, requested_at, expires_at)
         select id, '${String(approval?.rule_id)}', created_at, created_at + interval '1000 seconds'
           from outgoing_payment where id = $1`
      )
    ).toContain(`payment ${url.slice(-36)}: awaiting_approval`)
    await decline(url)
  })

  it('a payment that waits without its hold, and one whose reservation was ended', async () => {
    const url = await waiting(100)
    expect(
      await violations(
        url,
        `update transfer set state = 'voided', ended_at = now() where id = $1`,
        `update transfer set state = 'pending', ended_at = null where id = $1`
      )
    ).toContain(`payment ${url.slice(-36)} of payment`)
    expect(
      await violations(
        url,
        `update grant_reservation set outcome = 'release', next_attempt_at = 'infinity' where payment_id = $1`,
        `update grant_reservation set outcome = null where payment_id = $1`
      )
    ).toContain(`payment ${url.slice(-36)}: awaiting_approval with 0 sent`)
    await decline(url)
  })

  it('a payment that was declined although it was approved, or without a decision', async () => {
    const url = await waiting(100)
    await decline(url)
    for (const damage of [`decision = 'approved'`, UNDECIDED])
      expect(
        await violations(
          url,
          `update payment_approval set ${damage} where payment_id = $1`,
          `update payment_approval set decision = 'declined', decided_at = requested_at where payment_id = $1`
        )
      ).toContain(`payment ${url.slice(-36)}: declined_by_provider`)
  })
})

describe('a decision about', () => {
  const decisions = (url: string) => [approve(url), decline(url)].map(refusalOf)

  it('a payment that met no rule is refused', async () => {
    const url = await pay(100)
    await world.whenEnded(url)
    for (const refusal of decisions(url))
      expect(await refusal).toBe(
        'FAILED_PRECONDITION outgoing_payment: the payment met no rule, so there is nothing to decide: it is completed'
      )
    expect((await show(url)).approval).toBeUndefined()
  })

  it('an unknown or a foreign payment is refused', async () => {
    for (const refusal of decisions(`${PUBLIC_URL}/outgoing-payments/${randomUUID()}`))
      expect(await refusal).toBe('NOT_FOUND outgoing_payment: there is no such outgoing payment')
    for (const url of [
      '',
      'https://other.example/outgoing-payments/01890a5d-ac96-774b-bcce-b302099a8057',
      `${PUBLIC_URL}/incoming-payments/01890a5d-ac96-774b-bcce-b302099a8057`,
      `${PUBLIC_URL}/outgoing-payments/x`,
      '01890a5d-ac96-774b-bcce-b302099a8057'
    ])
      for (const refusal of [...decisions(url), refusalOf(show(url))])
        expect(await refusal).toMatch(/^INVALID_ARGUMENT outgoing_payment: outgoing_payment must begin with /)
  })

  it('a payment that has ended otherwise changes nothing', async () => {
    const url = await waiting(100)
    const id = url.slice(-36)
    await world.database.query(
      `update outgoing_payment set state = 'failed', failure_reason = 'receiver_full' where id = $1`,
      [id]
    )
    for (const refusal of decisions(url)) expect(await refusal).toMatch(/^INTERNAL /)
    expect(await show(url)).toMatchObject({
      payment: { state: 'failed', failureReason: 'receiver_full' },
      approval: { decision: '' }
    })
    await world.database.query(
      `update outgoing_payment set state = 'awaiting_approval', failure_reason = null where id = $1`,
      [id]
    )
    await decline(url)
  })

  it('a payment that has lost its hold changes nothing', async () => {
    const url = await waiting(100)
    const id = url.slice(-36)
    const before = await world.available('alice')
    await world.database.query(`update transfer set state = 'voided', ended_at = now() where id = $1`, [id])
    expect(await refusalOf(decline(url))).toMatch(/^INTERNAL /)
    expect(await stateOf(url)).toBe('awaiting_approval')
    expect(await world.available('alice')).toBe(before)
    await world.database.query(`update transfer set state = 'pending', ended_at = null where id = $1`, [id])
    await decline(url)
  })

  it('a payment needs a reason that can be shown, or none', async () => {
    const url = await waiting(100)
    for (const reason of ['x'.repeat(1_001), 'a\nb', '\u0000'])
      for (const call of [approve(url, reason), decline(url, reason)])
        expect(await refusalOf(call)).toMatch(
          /^INVALID_ARGUMENT reason: reason must be at most 1000 characters/
        )
    expect(await stateOf(url)).toBe('awaiting_approval')
    await decline(url, 'x'.repeat(1_000))
  })
})

describe('a rule', () => {
  /** Whether a payment awaits approval; then it is declined. */
  async function waits(value: number, receiver?: string): Promise<boolean> {
    const url = await pay(value, receiver)
    if ((await stateOf(url)) !== 'awaiting_approval') {
      await world.whenEnded(url)
      return false
    }
    await decline(url)
    return true
  }

  it('is met by a debit above its amount', async () => {
    await rule({ aboveValue: '100' })
    expect([await waits(100), await waits(101)]).toEqual([false, true])
  })

  it('is met by payments of its wallet address and client only', async () => {
    await rule({ walletAddress: BOB })
    expect(await waits(100)).toBe(false)
    await rule({ client: 'https://other.example/wallet' })
    expect(await waits(100)).toBe(false)
    await rule({ walletAddress: ALICE, client: world.shop.client, aboveValue: '200', method: 'local' })
    expect([await waits(200), await waits(201)]).toEqual([false, true])
  })

  it('is met by its client, however its wallet address is spelled', async () => {
    const { origin, pathname } = new URL(world.shop.client)
    const id = await rule({ client: `${origin.toUpperCase()}${pathname}/` })
    expect(await waits(100)).toBe(true)
    expect((await world.operate('listApprovalRules', {})).rules).toMatchObject([
      { id, client: world.shop.client }
    ])
  })

  it('is met by every payment of its method', async () => {
    await rule({ method: 'local' })
    expect(await waits(1)).toBe(true)
  })

  it('about first payees is met until one payment has arrived, also before there was the rule', async () => {
    await world.database.query('delete from known_payee')
    const before = await pay(100)
    await world.whenEnded(before)
    await world.operate('createAccount', { name: 'dave', asset: { code: 'USD', scale: 2 } })
    await world.operate('createWalletAddress', { path: '/dave', publicName: '', accountName: 'dave' })
    await rule({ firstPayee: true })
    expect(await waits(100)).toBe(false)
    const dave = await world.createReceiver({ walletAddress: `${PUBLIC_URL}/dave` })
    expect(await waits(100, dave)).toBe(true)
    const url = await pay(100, dave)
    expect(await waits(100, dave)).toBe(true)
    await approve(url)
    await world.whenEnded(url)
    expect(await waits(100, dave)).toBe(false)
  })

  it('is listed, and deleted once', async () => {
    const id = await rule({ walletAddress: ALICE, aboveValue: '18446744073709551615', firstPayee: true })
    const { rules } = await world.operate('listApprovalRules', {})
    expect(rules).toMatchObject([
      {
        id,
        walletAddress: ALICE,
        aboveValue: '18446744073709551615',
        client: '',
        firstPayee: true,
        method: ''
      }
    ])
    await world.operate('deleteApprovalRule', { ruleId: id })
    expect(await refusalOf(world.operate('deleteApprovalRule', { ruleId: id }))).toBe(
      'NOT_FOUND rule_id: there is no such rule'
    )
    expect(await refusalOf(world.operate('deleteApprovalRule', { ruleId: 'x' }))).toBe(
      'INVALID_ARGUMENT rule_id: rule_id must be a lower-case UUID'
    )
  })

  it('needs a condition, and conditions that mean something', async () => {
    const bad: readonly [Partial<wallet.CreateApprovalRuleRequest>, RegExp][] = [
      [{}, /^INVALID_ARGUMENT rule: rule must have at least one condition$/],
      [{ aboveValue: '-1' }, /^INVALID_ARGUMENT above_value: /],
      [{ aboveValue: '1.5' }, /^INVALID_ARGUMENT above_value: /],
      [{ aboveValue: '18446744073709551616' }, /^INVALID_ARGUMENT above_value: /],
      [{ walletAddress: `${PUBLIC_URL}/nobody` }, /^NOT_FOUND wallet_address: /],
      [{ walletAddress: 'https://other.example/alice' }, /^NOT_FOUND wallet_address: /],
      [{ client: 'shop' }, /^INVALID_ARGUMENT client: /],
      [{ client: 'https://' }, /^INVALID_ARGUMENT client: /],
      [{ client: 'https://shop.example/wallet?a' }, /^INVALID_ARGUMENT client: /],
      [{ client: 'https://shop@shop.example/wallet' }, /^INVALID_ARGUMENT client: /],
      [{ client: 'https://shöp.example/wallet' }, /^INVALID_ARGUMENT client: /],
      [{ client: 'https://shop.example./wallet' }, /^INVALID_ARGUMENT client: /],
      [{ client: `https://${'x'.repeat(2_100)}` }, /^INVALID_ARGUMENT client: /],
      [{ method: 'carrier pigeon' }, /^INVALID_ARGUMENT method: method must be local or ilp$/]
    ]
    for (const [conditions, refusal] of bad) expect(await refusalOf(rule(conditions))).toMatch(refusal)
    expect((await world.operate('listApprovalRules', {})).rules).toEqual([])
  })

  it('is one of at most 1,000', async () => {
    await world.database.query(
      `insert into approval_rule (id, client, first_payee, created_at)
       select gen_random_uuid(), 'https://nobody.example', false, now() from generate_series(1, 1000)`
    )
    expect(await refusalOf(rule({ aboveValue: '1' }))).toMatch(/^FAILED_PRECONDITION rule: /)
  })
})
