import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { RawQueries } from '@open-payments-server/database'
import { auth as protocol } from '@open-payments-server/proto'
import {
  createPurge,
  createPurgeRepository,
  type PurgedBatch,
  type PurgeRepository
} from '@open-payments-server/service-kit/purge'
import { GrpcFixture, spending, usd, type WrittenGrant } from '../../../test/support/grpc-fixture.js'
import type { GrantState } from '../../domain/grants.js'
import { ENDED_KINDS, type EndedKind } from '../../domain/counters.js'
import { createPurgeStatements } from './purge-statements.js'

const DAY_MS = 86_400_000
const RETENTION_DAYS = 30
const HOUR_SECONDS = 3_600
const PURGE_STATEMENTS = createPurgeStatements({
  undecidedSeconds: 6 * HOUR_SECONDS,
  unconsentedSeconds: 24 * HOUR_SECONDS
})

let auth: GrpcFixture
let repository: PurgeRepository<EndedKind>
let purged: Record<EndedKind, number>

beforeAll(async () => {
  auth = await GrpcFixture.start()
  repository = createPurgeRepository(auth.prisma, PURGE_STATEMENTS)
})
afterAll(() => auth.stop())
beforeEach(async () => {
  purged = { grant: 0, token: 0, refusal: 0 }
  await auth.database.query(
    `truncate grant_request, access_item, grant_act, grant_expiry, interaction, consent_record, access_token, limit_window,
       reservation`
  )
})

/** An instant so many days before the clock of the tests. */
const daysAgo = (days: number): Date => new Date(auth.clock.now() - days * DAY_MS)

/** An instant so many hours before the clock of the tests. */
const hoursAgo = (hours: number): Date => daysAgo(hours / 24)

/** Everything that one purge does, batch by batch. */
async function purge(): Promise<typeof purged> {
  const purgeBatch = createPurge({
    repository,
    kinds: ENDED_KINDS,
    clock: auth.clock,
    retentionDays: RETENTION_DAYS,
    countPurged: (kind, count) => {
      purged[kind] += count
    }
  })
  while (await purgeBatch());
  return purged
}

const rangeOf = (countMax: number) => ({
  nowMs: auth.clock.now(),
  retentionSeconds: (RETENTION_DAYS * DAY_MS) / 1_000,
  countMax
})

/** A grant of which the service thought, when it last looked, that it was over long ago. */
async function grantOf(state: GrantState, endedAt: Date): Promise<WrittenGrant> {
  const interaction = 'nobody was asked'
  const expiresAtMs = endedAt.getTime()
  const grant = await auth.grant({ access: [spending()], state, expiresAtMs, interaction })
  await auth.database.query('update grant_request set alive_until = $2, updated_at = $3 where id = $1', [
    grant.grantId,
    daysAgo(1_000),
    endedAt
  ])
  if (state !== 'issued')
    await auth.database.query('delete from access_token where grant_id = $1', [grant.grantId])
  return grant
}

/** A pending grant, or an approved one, that had so long. */
async function interactiveGrantOf(state: 'pending' | 'approved', endedAt: Date, continueBefore?: Date) {
  const grant = await grantOf(state, daysAgo(1_000))
  await auth.database.query(
    `insert into interaction (id, grant_id, wallet_address, nonce, reference, state, expires_at)
     values (gen_random_uuid(), $1, 'https://wallet.example/alice', 'n', 'r', $2, $3)`,
    [grant.grantId, state === 'pending' ? 'PENDING' : 'APPROVED', endedAt]
  )
  if (continueBefore !== undefined)
    await auth.database.query('update grant_request set continue_before = $2 where id = $1', [
      grant.grantId,
      continueBefore
    ])
  return grant
}

/** An issued grant to which the account holder agreed, and whose token expired then. */
async function agreedGrant(expiredAt: Date): Promise<WrittenGrant> {
  return answeredGrant('issued', 'APPROVED', expiredAt)
}

/** A grant whose account holder was asked. */
async function answeredGrant(state: GrantState, answer: string, endedAt: Date): Promise<WrittenGrant> {
  const grant = await grantOf(state, endedAt)
  await auth.database.query(
    `insert into interaction (id, grant_id, wallet_address, nonce, reference, state, expires_at)
     values (gen_random_uuid(), $1, 'https://wallet.example/alice', 'n', 'r', $2, $3)`,
    [grant.grantId, answer, endedAt]
  )
  return grant
}

/** Ends the living token of a grant as a rotation does, and gives it a new one. */
async function rotate({ grantId }: WrittenGrant, endedAt: Date, expiresAt: Date): Promise<void> {
  await auth.database.query(
    `update access_token set ended_at = $2, end_reason = 'rotated' where grant_id = $1 and ended_at is null`,
    [grantId, endedAt]
  )
  await auth.database.query(
    `insert into access_token (id, grant_id, value_hash, expires_at, created_at)
     values (gen_random_uuid(), $1, sha256(gen_random_uuid()::text::bytea), $2, $3)`,
    [grantId, expiresAt, endedAt]
  )
}

const count = async (table: string, grantId?: string): Promise<number> => {
  const [row] = await auth.database.query<{ count: number }>(
    `select count(*)::integer as count from ${table} where $1::uuid is null or ${table === 'grant_request' ? 'id' : 'grant_id'} = $1`,
    [grantId ?? null]
  )
  return row?.count ?? 0
}

describe('a grant', () => {
  it.each<[string, 'goes' | 'stays', () => Promise<WrittenGrant>]>([
    ['that nobody decided', 'goes', () => interactiveGrantOf('pending', hoursAgo(7))],
    ['that nobody decided lately', 'stays', () => interactiveGrantOf('pending', hoursAgo(5))],
    [
      'whose approval came to nothing',
      'goes',
      () => interactiveGrantOf('approved', daysAgo(90), daysAgo(31))
    ],
    [
      'whose approval came to nothing lately',
      'stays',
      () => interactiveGrantOf('approved', daysAgo(90), daysAgo(29))
    ],
    ['that was declined', 'goes', () => answeredGrant('rejected', 'DENIED', daysAgo(31))],
    ['that was declined lately', 'stays', () => answeredGrant('rejected', 'DENIED', daysAgo(29))],
    ['that was revoked', 'goes', () => answeredGrant('revoked', 'APPROVED', daysAgo(31))],
    ['that was revoked lately', 'stays', () => answeredGrant('revoked', 'APPROVED', daysAgo(29))],
    ['that was cancelled undecided', 'goes', () => answeredGrant('revoked', 'PENDING', hoursAgo(7))],
    ['that was cancelled undecided, lately', 'stays', () => answeredGrant('revoked', 'PENDING', hoursAgo(5))],
    ['that nobody was asked for, and was cancelled', 'goes', () => grantOf('revoked', hoursAgo(25))],
    ['that nobody was asked for, and was cancelled lately', 'stays', () => grantOf('revoked', hoursAgo(23))],
    ['whose token expired', 'goes', () => grantOf('issued', hoursAgo(25))],
    ['whose token expired lately, and can be rotated', 'stays', () => grantOf('issued', hoursAgo(23))],
    ['whose token lives', 'stays', () => grantOf('issued', daysAgo(-1))],
    [
      'whose first token expired long ago, and was rotated lately',
      'stays',
      async () => {
        const grant = await grantOf('issued', daysAgo(90))
        await rotate(grant, hoursAgo(23), hoursAgo(23))
        return grant
      }
    ],
    [
      'that the account holder agreed to, and whose token can be rotated',
      'stays',
      () => agreedGrant(daysAgo(400))
    ],
    [
      'that the account holder agreed to, and whose token was revoked',
      'goes',
      async () => {
        const grant = await agreedGrant(daysAgo(90))
        await auth.database.query(
          `update access_token set ended_at = $2, end_reason = 'revoked' where grant_id = $1`,
          [grant.grantId, daysAgo(31)]
        )
        return grant
      }
    ],
    [
      'whose only token was revoked',
      'goes',
      async () => {
        const grant = await grantOf('issued', daysAgo(31))
        await auth.database.query(`update access_token set ended_at = $1, end_reason = 'revoked'`, [
          daysAgo(31)
        ])
        return grant
      }
    ],
    [
      'that was issued without a token, for its subject alone',
      'goes',
      async () => {
        const grant = await grantOf('issued', daysAgo(31))
        await auth.database.query('delete from access_token')
        return grant
      }
    ]
  ])('%s %s', async (_what, fate, write) => {
    const { grantId } = await write()
    await purge()
    const left = fate === 'goes' ? 0 : 1
    expect(await count('grant_request', grantId)).toBe(left)
    expect(purged.grant).toBe(1 - left)
    if (fate === 'goes') {
      for (const table of ['access_item', 'interaction', 'access_token']) expect(await count(table)).toBe(0)
    }
  })

  it('under which money moved stays for good, with its windows and reservations, and the books stay in order', async () => {
    const payments: Record<'open' | 'settled' | 'released', string> = {
      open: auth.newId(),
      settled: auth.newId(),
      released: auth.newId()
    }
    const grants: WrittenGrant[] = []
    for (const paymentId of Object.values(payments)) {
      const grant = await auth.grant({ access: [spending({ debitAmount: usd(500n) })] })
      await auth.reserve(grant.token, { paymentId })
      grants.push(grant)
    }
    await auth.settle(payments.settled, 60n, 60n)
    await auth.release(payments.released)
    await auth.database.query('update grant_request set alive_until = $1, updated_at = $1', [daysAgo(90)])
    await auth.database.query('update access_token set expires_at = $1', [daysAgo(90)])
    await auth.database.query(`update grant_request set state = 'revoked' where id = $1`, [
      grants[2]?.grantId
    ])
    const unused = await grantOf('issued', daysAgo(31))

    expect(await purge()).toEqual({ grant: 1, token: 0, refusal: 0 })
    expect(await count('grant_request', unused.grantId)).toBe(0)
    expect(await count('grant_request')).toBe(3)
    expect(Object.values(await auth.windows())).toEqual(
      expect.arrayContaining([
        ['100', '100'],
        ['60', '60'],
        ['0', '0']
      ])
    )
    expect(await auth.violations()).toEqual([])
    // They are not looked at again, however many there are.
    expect(await repository.purge('grant', rangeOf(10))).toEqual({ lookedAt: 0, purged: 0 })
    expect(await auth.settle(payments.open, 10n, 10n)).toBe('OK')
    expect(await auth.violations()).toEqual([])
  })

  it('is looked at again only when it may be over', async () => {
    await interactiveGrantOf('approved', daysAgo(90), daysAgo(29))
    expect(await repository.purge('grant', rangeOf(10))).toEqual({ lookedAt: 1, purged: 0 })
    expect(await repository.purge('grant', rangeOf(10))).toEqual({ lookedAt: 0, purged: 0 })
    auth.clock.advanceSeconds(1.5 * 86_400)
    expect(await repository.purge('grant', rangeOf(10))).toEqual({ lookedAt: 1, purged: 1 })
  })

  it('that is gone leaves a token that is not known: introspection says so, and nothing is reserved', async () => {
    const { token } = await grantOf('issued', daysAgo(31))
    const expired = await auth.introspect(token)
    expect(expired.status).toBe(protocol.TokenStatus.TOKEN_STATUS_INACTIVE)
    // Its access is remembered from here on.
    expect(await auth.reserve(token)).toEqual({ refused: 'INACTIVE_TOKEN' })
    await purge()
    const gone = await auth.introspect(token)
    expect(gone.status).toBe(protocol.TokenStatus.TOKEN_STATUS_UNKNOWN)
    expect(await auth.reserve(token)).toEqual({ refused: 'INACTIVE_TOKEN' })
    expect(await auth.windows()).toEqual({})
  })
})

describe('a token', () => {
  it('that a rotation ended goes, unless that was lately; the newest of its grant stays, whatever became of it', async () => {
    const grant = await auth.grant({ access: [spending()] })
    await auth.reserve(grant.token)
    await rotate(grant, daysAgo(90), daysAgo(89))
    await rotate(grant, daysAgo(31), daysAgo(31))
    await rotate(grant, hoursAgo(23), hoursAgo(23))
    const revoked = await auth.grant({ access: [spending()] })
    await auth.reserve(revoked.token)
    await auth.database.query(
      `update access_token set ended_at = $2, end_reason = 'revoked' where grant_id = $1`,
      [revoked.grantId, daysAgo(90)]
    )
    expect(await purge()).toEqual({ grant: 0, token: 2, refusal: 0 })
    expect(await count('access_token', grant.grantId)).toBe(2)
    expect(await count('access_token', revoked.grantId)).toBe(1)
  })
})

describe('a refusal', () => {
  const age = (paymentId: string, createdAt: Date) =>
    auth.database.query('update reservation set created_at = $2 where payment_id = $1', [
      paymentId,
      createdAt
    ])
  const isRecorded = async (paymentId: string): Promise<boolean> =>
    (await auth.database.query('select from reservation where payment_id = $1', [paymentId])).length > 0

  it('goes after two days, when the token of a late repetition cannot be alive', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(50n) })] })
    const [old, recent] = [auth.payment(token), auth.payment(token)]
    for (const payment of [old, recent]) {
      expect(await auth.reserveAs(payment)).toEqual({ refused: 'LIMIT_EXCEEDED' })
    }
    await age(old.paymentId, hoursAgo(49))
    await age(recent.paymentId, hoursAgo(47))
    expect(await purge()).toEqual({ grant: 0, token: 0, refusal: 1 })
    expect([await isRecorded(old.paymentId), await isRecorded(recent.paymentId)]).toEqual([false, true])
    // Whoever slept for two days asks with the token of then. There is room by now, and it is refused all the same.
    await auth.database.query(
      'update access_item set limit_debit_value = null, limit_debit_code = null, limit_debit_scale = null'
    )
    await auth.database.query('update access_token set expires_at = $1', [hoursAgo(25)])
    expect(await auth.reserveAs(old)).toEqual({ refused: 'INACTIVE_TOKEN' })
    expect(await auth.windows()).toEqual({})
  })

  it('stays for good once it was released, as the id that was given up at the resource server does', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(50n) })] })
    const payment = auth.payment(token)
    await auth.reserveAs(payment)
    for (let released = 0; released < 2; released += 1)
      expect(await auth.release(payment.paymentId)).toBe('OK')
    await age(payment.paymentId, daysAgo(90))
    expect(await purge()).toEqual({ grant: 0, token: 0, refusal: 0 })
    expect(await auth.reserveAs(payment)).toEqual({ refused: 'LIMIT_EXCEEDED' })
  })

  it('is all that goes: what had room stays, however it ended', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const payments = [auth.payment(token), auth.payment(token), auth.payment(token)]
    for (const payment of payments) await auth.reserveAs(payment)
    await auth.settle(payments[1]?.paymentId ?? '', 60n, 60n)
    await auth.release(payments[2]?.paymentId ?? '')
    await auth.release(auth.newId())
    await auth.database.query('update reservation set created_at = $1', [daysAgo(400)])
    expect(await purge()).toEqual({ grant: 0, token: 0, refusal: 0 })
    expect(await auth.database.query('select from reservation')).toHaveLength(4)
  })
})

describe('the purge', () => {
  const writeMany = async (total: number): Promise<void> => {
    await auth.database.query(
      `insert into grant_request (id, state, client_wallet_address, key_id, key_x, continuation_token_hash, created_at,
                                  updated_at, alive_until)
       select gen_random_uuid(), 'revoked', 'https://wallet.example/shop', 'k', 'x', 'h', $2, $2,
              $2::timestamptz + make_interval(secs => number)
         from generate_series(1, $1::integer) as number`,
      [total, daysAgo(90)]
    )
  }

  it('looks at no more than a batch at a time', async () => {
    await writeMany(25)
    const batches: PurgedBatch[] = []
    do batches.push(await repository.purge('grant', rangeOf(10)))
    while (batches.at(-1)?.lookedAt === 10)
    expect(batches).toEqual([10, 10, 5].map((lookedAt) => ({ lookedAt, purged: lookedAt })))
  })

  it('is shared by several that run at once', async () => {
    await writeMany(400)
    const purgeAll = async (): Promise<number> => {
      let total = 0
      for (;;) {
        const { lookedAt, purged: gone } = await repository.purge('grant', rangeOf(20))
        total += gone
        if (lookedAt === 0) return total
      }
    }
    const totals = await Promise.all([purgeAll(), purgeAll(), purgeAll()])
    expect(totals.reduce((left, right) => left + right)).toBe(400)
    expect(await auth.deadlocks()).toBe(0)
  })

  it('leaves a grant alone whose expired token is being rotated', async () => {
    const grant = await grantOf('issued', daysAgo(31))
    await auth.database.inTransaction(async (query) => {
      await query(`update access_token set ended_at = $1, end_reason = 'rotated'`, [daysAgo(0)])
      expect(await purge()).toEqual({ grant: 0, token: 0, refusal: 0 })
      await query(
        `insert into access_token (id, grant_id, value_hash, expires_at, created_at)
         values (gen_random_uuid(), $1, 'new', $2, $3)`,
        [grant.grantId, daysAgo(-1), daysAgo(0)]
      )
    })
    expect(await purge()).toEqual({ grant: 0, token: 0, refusal: 0 })
    expect(await count('access_token', grant.grantId)).toBe(2)
    expect(await auth.deadlocks()).toBe(0)
  })

  it('believes no clock that runs ahead of that of the database', async () => {
    await grantOf('issued', new Date(Date.now() - 0.9 * DAY_MS))
    const inTenYearsMs = Date.now() + 3_650 * DAY_MS
    expect((await repository.purge('grant', { ...rangeOf(10), nowMs: inTenYearsMs })).purged).toBe(0)
  })

  it('finds what is over by indexes alone, however much is not', async () => {
    // A batch of ten among these is what one of 500 is among a million.
    await writeMany(20_000)
    await auth.database.query(
      `insert into access_item (id, grant_id, position, type, actions)
       select gen_random_uuid(), id, 0, 'quote', '{create}' from grant_request`
    )
    await auth.database.query(
      `insert into access_token (id, grant_id, value_hash, expires_at, ended_at, end_reason, created_at)
       select gen_random_uuid(), id, sha256(id::text::bytea), updated_at, updated_at, 'rotated', updated_at from grant_request`
    )
    await auth.database.query(
      `insert into reservation (payment_id, state, refusal_reason, created_at)
       select gen_random_uuid(), 'refused', 'limit_exceeded', updated_at from grant_request`
    )
    await auth.database.query('analyze grant_request, access_item, access_token, reservation')
    for (const { text, values } of await statementsOfABatch()) {
      const explain = `explain (format json) ${text}`
      const [row] = await auth.database.query<{ 'QUERY PLAN': unknown }>(explain, values)
      const plan = JSON.stringify(row)
      expect(plan).toContain('Index Scan')
      expect(plan).not.toContain('Seq Scan')
    }
  })

  it('deletes what belongs to a grant by an index, too', async () => {
    const missing = await auth.database.query(
      `select c.conname from pg_constraint c
        where c.contype = 'f' and c.connamespace = 'public'::regnamespace and not exists (
          select 1 from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1] and i.indpred is null)`
    )
    expect(missing).toEqual([])
  })
})

/** The statements of a batch, as they are sent. */
async function statementsOfABatch(): Promise<{ text: string; values: unknown[] }[]> {
  const statements: { text: string; values: unknown[] }[] = []
  const recording: RawQueries = {
    $queryRaw: <Rows>({ text, values }: { text: string; values: unknown[] }) => {
      statements.push({ text, values })
      return Promise.resolve([{ rows: '[{"lookedAt":0,"purged":0}]' }] as Rows)
    }
  }
  const recorded = createPurgeRepository(recording, PURGE_STATEMENTS)
  await recorded.purge('grant', rangeOf(10))
  await recorded.purge('token', rangeOf(10))
  await recorded.purge('refusal', rangeOf(10))
  return statements
}
