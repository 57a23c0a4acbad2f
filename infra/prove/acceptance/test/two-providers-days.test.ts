import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { RunningTestClock } from '@open-payments-server/testing'
import { converged, eventually } from '../src/payments.js'
import { PEER_NAME } from '../src/peering.js'
import { AnswerLoser } from '../src/providers/answer-loser.js'
import { openCrossing, valueAt, whenEnded } from '../src/providers/crossing.js'
import { compareProviders } from '../src/providers/disagreements.js'
import { OrderBook } from '../src/providers/order-book.js'
import {
  directionsOf,
  DOLLARS,
  EURO_PEER_NAME,
  EUROS,
  peerInTwoAssets,
  UNEQUAL_TERMS
} from '../src/providers/provider-pair.js'
import { type CommandOutput, runOperatorCli } from '../src/run-operator-cli.js'
import { startSystem, type System } from '../src/system.js'
import { amountOf, type Correspondence } from '../src/wallets.js'

const DAY_MS = 86_400_000

describe('two installations, as days pass,', () => {
  // At noon, so that no day ends by itself.
  const clock = new RunningTestClock((Math.floor(Date.now() / DAY_MS) + 0.5) * DAY_MS)
  const started: { stop(): Promise<void> }[] = []
  const book = new OrderBook()
  let one: System
  let another: System
  let loser: AnswerLoser
  let folder: string
  beforeAll(async () => {
    const [terms, otherTerms] = UNEQUAL_TERMS
    started.push((one = await startSystem({ clock, resource: terms })))
    started.push((another = await startSystem({ clock, resource: otherTerms })))
    started.push((loser = await AnswerLoser.start(another.peering.ilpEndpoint)))
    const endpointOf = (peer: Pick<System, 'peering'>): string =>
      peer === another ? loser.url : peer.peering.ilpEndpoint
    await peerInTwoAssets({ one, another }, endpointOf)
    folder = await mkdtemp(join(tmpdir(), 'open-payments-statements-'))
  })
  afterEach(async () => {
    expect((await compareProviders({ one, another }, book)).disagreements).toEqual([])
  })
  afterAll(async () => {
    await Promise.all(started.map((each) => each.stop()))
    await rm(folder, { recursive: true })
  })

  async function advanceTo(nowMs: number): Promise<void> {
    clock.set(nowMs)
    await book.renewTokens()
  }

  /** Goes to the beginning of the next day, when the one before can be looked back on. Returns that one. */
  async function passToNextDay(): Promise<string> {
    const today = new Date(clock.now()).toISOString().slice(0, 10)
    await advanceTo(Date.parse(`${today}T00:02:00Z`) + DAY_MS)
    return today
  }

  it('let as much be spent again in each interval, and release within one what was not delivered', async () => {
    const limits = { debit: 1_000n, dailySinceMs: clock.now() - 1_000 }
    const way = { sender: another, receiver: one }
    const by = await openCrossing(way, book, { from: DOLLARS, to: EUROS, limits })
    const open = await book.createReceiver(by)
    const pay = async (value: bigint): Promise<number> => {
      const created = book.keep(by, await by.pay(open, amountOf(by.from, value)))
      // Before time passes, in which its packets would expire.
      if (created.status === 201) await whenEnded(by, created)
      return created.status
    }
    expect([await pay(1_000n), await pay(10n)]).toEqual([201, 403])

    await advanceTo(clock.now() + DAY_MS)
    const small = await book.createReceiver(by, 500n)
    const debitAmount = amountOf(by.from, 400n)
    const quotes = [await by.quote(small, { debitAmount }), await by.quote(small, { debitAmount })]
    let sent = 0n
    for (const quote of quotes) {
      sent += valueAt(await whenEnded(by, book.keep(by, await by.payQuote(quote))), 'sentAmount')
    }
    expect(sent).toBeLessThan(800n)
    expect(valueAt(await by.read('incoming', small), 'receivedAmount')).toBe(500n)
    await converged(another)
    expect([await pay(1_001n - sent), await pay(1_000n - sent), await pay(10n)]).toEqual([403, 201, 403])

    await advanceTo(clock.now() + DAY_MS)
    expect([await pay(1_000n), await pay(10n)]).toEqual([201, 403])
  })

  it('have the same in their statements of a day, packets and settlements, in both assets', async () => {
    for (const direction of directionsOf({ one, another })) {
      for (const from of [DOLLARS, EUROS]) {
        const by = await openCrossing(direction, book, { from, to: DOLLARS })
        await payInPart(by)
      }
    }
    const words = ['--value', '321', '--reference', 'SEPA 4711', '--key', 'SEPA-4711']
    await json(one, 'peer', 'settle', EURO_PEER_NAME, '--direction', 'sent', ...words)
    await json(another, 'peer', 'settle', EURO_PEER_NAME, '--direction', 'received', ...words)
    const date = await passToNextDay()
    for (const name of [PEER_NAME, EURO_PEER_NAME]) {
      const [ours, theirs] = await statementsOf(name, date)
      expect(ours.entries.length).toBeGreaterThan(3)
      expect(owedIn(ours)).toEqual(
        owedIn(theirs).map(({ payable, receivable }) => ({ payable: receivable, receivable: payable }))
      )
      const nothing = { status: 0, items: [{ differences: [], matched: ours.entries.length }] }
      expect(await reconcile(name, date)).toMatchObject([nothing, nothing])
    }
  })

  it('name a packet whose answer was lost, until it is decided that it arrived', async () => {
    const by = await openCrossing({ sender: one, receiver: another }, book, { from: EUROS, to: EUROS })
    const receiver = await book.createReceiver(by)
    const lost = loser.loseNext()
    const paid = book.keep(by, await by.pay(receiver, amountOf(by.from, 1_000n)))
    await lost
    await eventually('it is not sent any more', async () => {
      const [sending] = await one.resourceDatabase.query<{ waits: boolean }>(
        `select leased_by is null and due_at is null as waits from sending where payment_id = $1`,
        [paid.textAt('id').slice(-36)]
      )
      return sending?.waits === true
    })
    expect((await by.read('outgoing', paid.textAt('id'))).body).toMatchObject({
      failed: false,
      sentAmount: amountOf(by.from, 0n)
    })
    const value = String(valueAt(await by.read('incoming', receiver), 'receivedAmount'))
    const date = await passToNextDay()

    const [packet] = (await runOperatorCli(one, ['peer', 'unknown-packets', EURO_PEER_NAME])).items
    expect(packet).toMatchObject({ value, payment: paid.textAt('id') })
    const identifier = String(packet?.condition)
    const difference = { identifier, ours: null, theirs: null }
    expect(await reconcile(EURO_PEER_NAME, date)).toMatchObject([
      {
        status: 1,
        items: [
          {
            differences: [
              { ...difference, kind: 'packet_only_theirs', entryKind: 'sent', theirs: value },
              { kind: 'balance_differs', moment: 'closing', balance: 'payable' }
            ]
          }
        ]
      },
      {
        status: 1,
        items: [
          {
            differences: [
              { ...difference, kind: 'packet_only_ours', entryKind: 'received', ours: value },
              { kind: 'balance_differs', moment: 'closing', balance: 'receivable' }
            ]
          }
        ]
      }
    ])
    await json(one, 'peer', 'decide-packet', EURO_PEER_NAME, '--condition', identifier, '--arrived')
    expect((await whenEnded(by, paid)).body).toMatchObject({
      failed: false,
      sentAmount: amountOf(by.from, 1_000n)
    })
    const nothing = { status: 0, items: [{ differences: [] }] }
    expect(await reconcile(EURO_PEER_NAME, date, await passToNextDay())).toMatchObject([nothing, nothing])
  })

  it('name a settlement that only one side recorded', async () => {
    const words = ['--value', '77', '--reference', 'INV 8', '--key', 'INV-8']
    await json(one, 'peer', 'settle', PEER_NAME, '--direction', 'sent', ...words)
    const date = await passToNextDay()
    const difference = { identifier: 'INV 8', ours: null, theirs: null }
    expect(await reconcile(PEER_NAME, date)).toMatchObject([
      {
        status: 1,
        items: [
          {
            differences: [
              { ...difference, kind: 'settlement_only_ours', ours: '77' },
              { kind: 'balance_differs', moment: 'closing', balance: 'payable' }
            ]
          }
        ]
      },
      {
        status: 1,
        items: [
          {
            differences: [
              { ...difference, kind: 'settlement_only_theirs', theirs: '77' },
              { kind: 'balance_differs', moment: 'closing', balance: 'receivable' }
            ]
          }
        ]
      }
    ])
    // Late, but on the day after.
    await json(another, 'peer', 'settle', PEER_NAME, '--direction', 'received', ...words)
    const nothing = { status: 0, items: [{ differences: [] }] }
    expect(await reconcile(PEER_NAME, date, await passToNextDay())).toMatchObject([nothing, nothing])
  })

  /** Fills a receiver with two payments that together are more than it takes, and pays another one. */
  async function payInPart(by: Correspondence): Promise<void> {
    const receiveAmount = amountOf(by.to, 600n)
    const small = await book.createReceiver(by, 1_000n)
    const quotes = [await by.quote(small, { receiveAmount }), await by.quote(small, { receiveAmount })]
    const orders = [
      ...quotes.map((quote) => by.payQuote(quote)),
      by.pay(await book.createReceiver(by), amountOf(by.from, 500n))
    ]
    for (const order of await Promise.all(orders)) await whenEnded(by, book.keep(by, order))
  }

  /** The one document of an operator's command. */
  async function json(system: System, ...words: string[]): Promise<Record<string, unknown>> {
    const { status, items, stderr } = await runOperatorCli(system, words)
    expect([words.join(' '), status, stderr]).toEqual([words.join(' '), 0, ''])
    return items[0] ?? {}
  }

  /** What each side booked on a day: that of `one` first. */
  async function statementsOf(name: string, date: string): Promise<readonly [Statement, Statement]> {
    const read = async (system: System): Promise<Statement> =>
      (await json(system, 'peer', 'statement', name, '--date', date)) as unknown as Statement
    const [ours, theirs] = [read(one), read(another)]
    return [await ours, await theirs]
  }

  /** Compares days as an operator of each side does, with the statements that the other side gave: that of `one` first. */
  async function reconcile(name: string, ...dates: string[]): Promise<CommandOutput[]> {
    const files = new Map<System, string[]>([
      [one, []],
      [another, []]
    ])
    for (const date of dates) {
      const [ours, theirs] = await statementsOf(name, date)
      for (const [there, here, statement] of [
        ['one', another, ours],
        ['another', one, theirs]
      ] as const) {
        const file = join(folder, `${name}-of-${there}-${date}.json`)
        await writeFile(file, JSON.stringify(statement))
        files.get(here)?.push(file)
      }
    }
    return Promise.all(
      [...files].map(([here, theirs]) =>
        runOperatorCli(here, ['peer', 'reconcile', name, '--statement', ...theirs])
      )
    )
  }
})

/** What is owed in both directions. */
interface Owed {
  readonly receivable: string
  readonly payable: string
}

/** What `peer statement` prints, as far as it is read here. */
interface Statement {
  readonly opening: Owed
  readonly closing: Owed
  readonly entries: readonly unknown[]
}

/** What was owed before and after a day. */
function owedIn({ opening, closing }: Statement): readonly Owed[] {
  return [opening, closing]
}
