import { readFile } from 'node:fs/promises'
import {
  allSettled,
  amount,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay,
  requestToken,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import type { TestDatabase } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

/** With several thousand, the sizes that are printed hardly depend on pages that are not full. */
const PAYMENTS = Number(process.env.ROWS_PAYMENTS ?? '40')
const TOGETHER = 16

/** What there is of a table. */
interface TableSize {
  readonly rows: number
  readonly bytes: number
}
type Sizes = ReadonlyMap<string, TableSize>

describe('a payment', () => {
  let system: System
  beforeAll(async () => {
    system = await startSystem({
      auth: { CONTINUATION_WAIT_SECONDS: '0' },
      // A busy machine is to make it slow, and not to fail it.
      resource: { AUTH_GRPC_DEADLINE_MS: '20000' }
    })
  })
  afterAll(() => system.stop())

  it('adds as many rows to each table as docs/service-levels.md says', async () => {
    const page = await readFile(new URL('../../../../docs/service-levels.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `(\w+)` +\| +(\d+) +\| +(\d+) +\|/gm)].map(
      ([, table = '', alone, under]) => [table, Number(alone), Number(under)] as const
    )
    const alone = await growthOf(async () => {
      await together(payAlone)
    })
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    const receivers = await Promise.all(
      Array.from({ length: TOGETHER }, () => createReceiver(system, system.shop))
    )
    const under = await growthOf(async () => {
      await together(async (index) => {
        const receiver = receivers[index % TOGETHER]?.url ?? ''
        expect((await pay(system, system.shop, token, receiver, 1n)).status).toBe(201)
      })
    })
    console.log(describeGrowth(alone, under))
    const tables = [...new Set([...alone.keys(), ...under.keys()])].sort()
    const rowsOf = (growth: Sizes, table: string): number =>
      Math.round((growth.get(table)?.rows ?? 0) / PAYMENTS)
    expect(tables.map((table) => [table, rowsOf(alone, table), rowsOf(under, table)])).toEqual(
      [...documented].sort(([one], [other]) => (one < other ? -1 : 1))
    )
  })

  async function together(work: (index: number) => Promise<void>): Promise<void> {
    for (let first = 0; first < PAYMENTS; first += TOGETHER) {
      const count = Math.min(TOGETHER, PAYMENTS - first)
      await Promise.all(Array.from({ length: count }, (_, index) => work(first + index)))
    }
    await allSettled(system)
    await eventually('all events are published', async () => {
      const outboxes = [system.authDatabase, system.resourceDatabase]
      const waiting = await Promise.all(
        outboxes.map((one) => one.query('select 1 from event_outbox limit 1'))
      )
      return waiting.flat().length === 0
    })
  }

  /** With grants of its own, a quote, and an incoming payment that it fills. */
  async function payAlone(): Promise<void> {
    const { shop, resourceServerUrl, walletAddresses } = system
    const receiver = await createReceiver(system, shop, { incoming: 10n })
    const quoting = await requestToken(system, shop, [{ type: 'quote', actions: ['create'] }])
    const order = { walletAddress: walletAddresses.alice, receiver: receiver.url, method: 'ilp' }
    const quote = await shop.request('POST', `${resourceServerUrl}/quotes`, {
      accessToken: quoting,
      body: order
    })
    const limits = { debitAmount: amount(10) }
    const { token } = await consentedToken(system, shop, [outgoingAccess(system, limits)])
    const body = { walletAddress: walletAddresses.alice, quoteId: quote.textAt('id') }
    const url = `${resourceServerUrl}/outgoing-payments`
    expect((await shop.request('POST', url, { accessToken: token, body })).status).toBe(201)
  }

  /** What each table grows by. Tables that do not grow are left out. */
  async function growthOf(work: () => Promise<void>): Promise<Sizes> {
    const before = await sizes()
    await work()
    const after = await sizes()
    return new Map(
      [...after].flatMap(([table, { rows, bytes }]) => {
        const grown = {
          rows: rows - (before.get(table)?.rows ?? 0),
          bytes: bytes - (before.get(table)?.bytes ?? 0)
        }
        return Math.round(grown.rows / PAYMENTS) === 0 ? [] : [[table, grown] as const]
      })
    )
  }

  async function sizes(): Promise<Sizes> {
    const { authDatabase, resourceDatabase } = system
    const both = await Promise.all([authDatabase, resourceDatabase].map(sizesOf))
    const merged = new Map<string, TableSize>()
    for (const [table, { rows, bytes }] of both.flat()) {
      const { rows: otherRows = 0, bytes: otherBytes = 0 } = merged.get(table) ?? {}
      merged.set(table, { rows: rows + otherRows, bytes: bytes + otherBytes })
    }
    return merged
  }
})

async function sizesOf(database: TestDatabase): Promise<(readonly [string, TableSize])[]> {
  const tables = await database.query<{ name: string; bytes: string }>(
    `select relname as name, pg_total_relation_size(oid)::text as bytes from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like '\\_%'`
  )
  return Promise.all(
    tables.map(async ({ name, bytes }) => {
      const [counted] = await database.query<{ rows: number }>(`select count(*)::int as rows from "${name}"`)
      return [name, { rows: counted?.rows ?? 0, bytes: Number(bytes) }] as const
    })
  )
}

function describeGrowth(alone: Sizes, under: Sizes): string {
  const perPayment = (growth: Sizes, table: string): string => {
    const { rows = 0, bytes = 0 } = growth.get(table) ?? {}
    return `${(rows / PAYMENTS).toFixed(2)} rows, ${String(Math.round(bytes / PAYMENTS))} bytes`
  }
  const bytesOf = (growth: Sizes): number => [...growth.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  const tables = [...new Set([...alone.keys(), ...under.keys()])].sort()
  return [
    `${String(PAYMENTS)} payments, each: alone | under a grant that there is`,
    ...tables.map((table) => `  ${table}: ${perPayment(alone, table)} | ${perPayment(under, table)}`),
    `  in all: ${String(Math.round(bytesOf(alone) / PAYMENTS))} | ${String(Math.round(bytesOf(under) / PAYMENTS))} bytes`
  ].join('\n')
}
