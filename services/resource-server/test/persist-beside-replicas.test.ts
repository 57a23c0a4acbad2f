import { randomUUID } from 'node:crypto'
import { createPool, type DatabasePool } from '@open-payments-server/database'
import { createLogger, systemClock, systemRandom } from '@open-payments-server/runtime'
import { newId } from '@open-payments-server/value-types/identifiers'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { AuthServerUnavailable, type ReserveResult } from '../src/domain/ports.js'
import { createResourceUrls } from '../src/domain/resource-urls.js'
import { createPersist, type PersistResult } from '../src/features/create-outgoing-payment/persist.js'
import { createLocalPayments } from '../src/features/process-outgoing-payments/local-payments.js'
import { connectAuthServer } from '../src/grpc/auth-server/connection.js'
import { createGrantLimits } from '../src/grpc/auth-server/grant-limits.js'
import { giveUpPayment, type NewPayment } from '../src/modules/outgoing-payments/index.js'
import { openDatabase } from './support/open-database.js'
import { PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

const REPLICAS = 3
/** At each replica. */
const CLIENTS = 12
const PAYMENTS = 240
const QUOTES = 40
const SENDERS = ['alice', 'bob', 'dora', 'emil']
const USD = { code: 'USD', scale: 2 }

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld()
  for (const name of ['dora', 'emil']) {
    await world.operate('createAccount', { name, asset: USD })
    await world.operate('createWalletAddress', { path: `/${name}`, publicName: name, accountName: name })
    // Enough for some of their payments.
    await world.operate('deposit', { depositId: randomUUID(), accountName: name, value: '400' })
  }
})
afterAll(() => world.stop())

/** A number below another, the same in every run: a linear congruential generator. */
let seed = 20_260_101
const below = (bound: number): number => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
  return Math.floor((seed / 2 ** 31) * bound)
}

interface WalletRow {
  readonly name: string
  readonly wallet_id: string
  readonly account_id: string
  readonly asset_id: number
}

/** URLs of wallet addresses, by their ids. */
const walletAddressUrls = new Map<string, string>()

/** Payments of every sender to every other, some of them with the same quote. */
async function makePayments(): Promise<NewPayment[]> {
  const wallets = await world.database.query<WalletRow>(
    `select a.name, w.id as wallet_id, a.id as account_id, a.asset_id
       from account a join wallet_address w on w.account_id = a.id where a.name = any($1)`,
    [SENDERS]
  )
  for (const { wallet_id, name } of wallets) walletAddressUrls.set(wallet_id, `${PUBLIC_URL}/${name}`)
  const receivers = await Promise.all(
    wallets.map(async ({ name, asset_id }) => {
      const url = await world.createReceiver({
        walletAddress: `${PUBLIC_URL}/${name}`,
        ...(name === 'bob' ? { incomingAmount: usd(30) } : {})
      })
      return { url, incomingPaymentId: url.slice(-36), asset: USD, assetId: asset_id }
    })
  )
  const quotes = Array.from({ length: QUOTES }, (_, index) => ({
    id: randomUUID(),
    wallet: wallets[index % wallets.length],
    receiver: receivers[below(receivers.length)],
    value: BigInt(1 + below(60))
  }))
  for (const { id, wallet, receiver, value } of quotes) {
    await world.database.query(
      `insert into quote (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id,
                          method, expires_at, created_at)
       values ($1, $2, $3, $4, $5, 0, $5, $6, 'ilp', now() + interval '100 years', now())`,
      [id, wallet?.wallet_id, world.shop.client, receiver?.url, value.toString(), receiver?.assetId]
    )
  }
  return Array.from({ length: PAYMENTS }, () => {
    const quote = below(2) === 0 ? quotes[below(QUOTES)] : undefined
    const wallet = quote?.wallet ?? wallets[below(wallets.length)]
    const receiver = quote?.receiver ?? receivers[below(receivers.length)]
    if (wallet === undefined || receiver === undefined) throw new Error('there are no wallets')
    const value = quote?.value ?? BigInt(1 + below(60))
    return {
      id: randomUUID(),
      signatureId: newId(systemClock, systemRandom),
      requestHash: Buffer.alloc(32),
      walletAddressId: wallet.wallet_id,
      accountId: wallet.account_id,
      client: world.shop.client,
      grantId: world.auth.grantOf(world.token) ?? '',
      refund: undefined,
      terms: {
        amounts: { debitValue: value, feeValue: 0n, receiveValue: value },
        receiver,
        quoteId: quote?.id,
        sending: undefined,
        beginUntilMs: undefined
      },
      // Until it is reserved.
      grantSpentDebitValue: 0n,
      grantSpentReceiveValue: 0n,
      chargedAtMs: 0,
      unpayableCause: 'receiver-not-payable' as const,
      metadata: undefined
    }
  })
}

/** The part of a replica that creates payments in the database and at the auth server. */
function startReplica() {
  const pool: DatabasePool = createPool({
    url: world.database.url,
    connectionsMax: 4,
    applicationName: 'replica',
    statementTimeoutMs: 10_000,
    connectTimeoutMs: 60_000
  })
  const target = `127.0.0.1:${String(world.auth.port)}`
  const connection = connectAuthServer({ target, deadlineMs: 10_000, messageBytesMax: 1_048_576 })
  const limits = createGrantLimits(connection.grantLimits, { deadlineMs: 10_000 })
  const logger = createLogger({ service: 'replica', level: 'silent' })
  const urls = createResourceUrls(PUBLIC_URL)
  const database = openDatabase(pool)
  const persist = createPersist({ database, logger, clock: systemClock, approvalTimeoutSeconds: 60 })
  const counters = { countEnded: () => undefined, countIncomingCompleted: () => undefined }
  const method = createLocalPayments({
    database,
    urls,
    logger,
    clock: systemClock,
    random: systemRandom,
    counters,
    holdsFrozen: true
  })
  return {
    /** Reserves and persists like the service; `unavailable` if it would have to repeat the call. */
    async create(payment: NewPayment): Promise<PersistResult['kind'] | 'unavailable'> {
      let reserved: ReserveResult
      try {
        const { amounts, receiver } = payment.terms
        reserved = await limits.reserve({
          paymentId: payment.id,
          accessToken: world.token,
          walletAddress: walletAddressUrls.get(payment.walletAddressId) ?? '',
          receiver: receiver.url,
          debitAmount: { value: amounts.debitValue, asset: USD },
          receiveAmount: { value: amounts.receiveValue, asset: USD },
          requestHash: payment.requestHash
        })
      } catch (error) {
        if (error instanceof AuthServerUnavailable) return 'unavailable'
        throw error
      }
      // If another replica gave up the id, nothing is answered, and no payment may be persisted.
      const answered =
        reserved.kind === 'reserved'
          ? {
              grantSpentDebitValue: reserved.spentDebitAmount.value,
              grantSpentReceiveValue: reserved.spentReceiveAmount.value,
              chargedAtMs: reserved.chargedAtMs
            }
          : {}
      const { kind } = await persist({ ...payment, ...answered })
      if (kind === 'taken') await giveUpPayment(database, payment, 'id-taken')
      return kind
    },
    process: () => method.processPending(7),
    async stop() {
      connection.close()
      await pool.end()
    }
  }
}

/** Locks an account for a moment. */
const lockOf = (name = ''): string =>
  `begin; select 1 from account where name = '${name}' for no key update; select pg_sleep(0.01); commit`

it('several replicas that persist and process the same payments in other orders neither lock each other out nor overdraw', async () => {
  const payments = await makePayments()
  const replicas = Array.from({ length: REPLICAS }, startReplica)
  let creating = true
  const processing = Promise.all(
    replicas.map(async ({ process }) => {
      while (creating) await process()
    })
  )
  // A lock on another account comes in between, as for a deposit.
  const locking = (async () => {
    while (creating) await world.database.query(lockOf(SENDERS[below(SENDERS.length)]))
  })()
  const results: { payment: NewPayment; result: string }[] = []
  const clients = replicas.flatMap((replica, index) => {
    // Every payment at two replicas: the same request, sent twice.
    const own = payments.filter((_payment, place) => place % REPLICAS !== index).toSorted(() => below(3) - 1)
    return Array.from({ length: CLIENTS }, async (_, client) => {
      for (let place = client; place < own.length; place += CLIENTS) {
        const payment = own[place]
        if (payment !== undefined) results.push({ payment, result: await replica.create(payment) })
      }
    })
  })
  await Promise.all(clients)
  creating = false
  await Promise.all([processing, locking])
  await Promise.all(replicas.map((replica) => replica.stop()))
  await world.whenDelivered()

  expect(new Set(results.map(({ result }) => result))).toEqual(
    new Set(['persisted', 'receiver-not-payable', 'taken'])
  )
  const persisted = results.filter(({ result }) => result === 'persisted').map(({ payment }) => payment)
  const found = await world.database.query<{ id: string }>('select id from outgoing_payment order by id')
  expect(found.map(({ id }) => id)).toEqual(persisted.map(({ id }) => id).sort())
  // Every loser lost to a winner with the same id or the same quote.
  const won = new Set(persisted.flatMap(({ id, terms }) => [id, terms.quoteId ?? id]))
  const lost = results.filter(({ result }) => result === 'taken').map(({ payment }) => payment)
  const refused = new Set(
    results.filter(({ result }) => result === 'receiver-not-payable').map(({ payment }) => payment.id)
  )
  expect(
    lost.filter(({ id, terms }) => !won.has(id) && !won.has(terms.quoteId ?? id) && !refused.has(id))
  ).toEqual([])
  const states = await world.database.query<{ state: string; failure_reason: string | null }>(
    'select distinct state::text, failure_reason from outgoing_payment order by 1, 2'
  )
  expect(states.map(({ state }) => state)).toEqual(expect.arrayContaining(['completed', 'failed']))
  expect(states.map(({ state }) => state)).not.toContain('pending')
  const [{ deadlocks } = { deadlocks: -1 }] = await world.database.query<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = current_database()'
  )
  expect(deadlocks).toBe(0)
  expect(await world.audit()).toEqual([])
})
