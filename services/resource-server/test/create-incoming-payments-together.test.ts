import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import {
  createIncomingPaymentStore,
  type IncomingPaymentStore,
  type NewIncomingPayment
} from '../src/modules/incoming-payments/index.js'
import { openDatabase } from './support/open-database.js'
import { startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

const NOW_MS = Date.UTC(2030, 0, 1)

let service: TestResourceServer
let store: IncomingPaymentStore
let walletAddressId: string

beforeAll(async () => {
  service = await startTestResourceServer()
  store = createIncomingPaymentStore({ database: openDatabase(service.server.pool) })
  const [row] = await service.database.query<{ id: string }>('select id from wallet_address limit 1')
  walletAddressId = row?.id ?? ''
})
afterAll(() => service.stop())

const payment = (overrides: Partial<NewIncomingPayment> = {}): NewIncomingPayment => ({
  id: randomUUID(),
  identity: undefined,
  walletAddressId,
  client: 'shop',
  incomingValue: 100n,
  expiresAtMs: NOW_MS + 1,
  metadata: undefined,
  createdAtMs: NOW_MS,
  ...overrides
})

const keyed = (key: string): Pick<NewIncomingPayment, 'identity'> => ({
  identity: { idempotencyHash: Buffer.from(key), requestHash: Buffer.from(`request of ${key}`) }
})

/** Creates payments concurrently. Returns their results, and how many statements did. */
async function createAtOnce(payments: readonly NewIncomingPayment[]) {
  const record = recordStatements(service.server.pool)
  const results = await Promise.allSettled(payments.map((one) => store.create(one)))
  record.stop()
  return {
    results: results.map((result) => {
      if (result.status === 'rejected') return 'rejected'
      return result.value?.payment
    }),
    statementCount: record.statements.filter((text) => text.includes('insert into incoming_payment')).length
  }
}

describe('incoming payments that are created at the same time', () => {
  it('are kept with one statement, each as it was asked for', async () => {
    const payments = [
      payment(),
      payment({ incomingValue: undefined, client: 'market', metadata: { note: 'a "quoted" {list}, \\' } }),
      payment({ incomingValue: 18_446_744_073_709_551_615n, expiresAtMs: NOW_MS + 60_000 }),
      payment({ ...keyed('one'), metadata: {} })
    ]
    const { results, statementCount } = await createAtOnce(payments)
    expect(statementCount).toBe(1)
    expect(results).toEqual(
      payments.map(({ id, incomingValue, expiresAtMs, metadata }) =>
        expect.objectContaining({ id, incomingValue, expiresAtMs, metadata })
      )
    )
    const clients = await service.database.query(
      'select client from incoming_payment where id = any($1::uuid[]) order by array_position($1::uuid[], id)',
      [payments.map(({ id }) => id)]
    )
    expect(clients).toEqual(payments.map(({ client }) => ({ client })))
  })

  it('are one where they carry the same key, of that request and of an earlier one', async () => {
    const first = payment(keyed('same'))
    const { results } = await createAtOnce([
      first,
      payment(keyed('same')),
      payment(keyed('other')),
      payment(keyed('same'))
    ])
    expect(results.map((kept) => (typeof kept === 'object' ? kept.id : kept))).toEqual([
      first.id,
      first.id,
      expect.not.stringMatching(first.id),
      first.id
    ])
    const again = await createAtOnce([payment(keyed('same')), payment()])
    expect(again.results[0]).toMatchObject({ id: first.id })
  })

  it('are not kept where they would have expired, and those beside them are', async () => {
    const { results } = await createAtOnce([payment({ expiresAtMs: NOW_MS }), payment()])
    expect(results).toEqual([undefined, expect.anything()])
  })

  it('do not suffer from one that the database refuses', async () => {
    const { results } = await createAtOnce([
      payment(),
      payment({ walletAddressId: randomUUID() }),
      payment(keyed('beside one that fails'))
    ])
    expect(results).toEqual([expect.anything(), 'rejected', expect.anything()])
    expect(results).not.toContain(undefined)
  })

  it('are kept whatever the order of their keys, by replicas that create the same', async () => {
    const other = createIncomingPaymentStore({ database: openDatabase(service.server.pool) })
    for (let round = 0; round < 10; round += 1) {
      const keys = Array.from({ length: 20 }, (_, index) => `${String(round)}/${String(index)}`)
      const kept = await Promise.all([
        ...keys.map((key) => store.create(payment(keyed(key)))),
        ...keys.toReversed().map((key) => other.create(payment(keyed(key))))
      ])
      const ids = new Set(kept.flatMap((stored) => stored?.payment.id ?? []))
      expect(ids.size).toBe(keys.length)
    }
  })
})
