import { fileURLToPath } from 'node:url'
import {
  createPool,
  createPrismaAdapter,
  instantText,
  isUniqueViolation
} from '@open-payments-server/database'
import { createTestDatabase, type TestDatabase, type TestQuery } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { approveGrant } from '../src/features/accept-grant/approve-grant.js'
import { issueGrant } from '../src/features/continue-grant/issue-grant.js'
import { endGrant } from '../src/features/end-grant/end-grant.js'
import { createPurgeStatements } from '../src/features/purge-grants/purge-statements.js'
import {
  type BeginGrant,
  createBeginGrant,
  type GrantBeginning
} from '../src/features/request-grant/begin-grants.js'
import { PrismaClient } from '../src/generated/prisma/client.js'
import type { GrantEnd } from '../src/modules/grants/index.js'

/** Long ago: whatever the database's clock says, it is later than all that happens here. */
const START_MS = Date.UTC(2025, 0, 1)
const HOUR_SECONDS = 3_600
const HOUR_MS = HOUR_SECONDS * 1_000
/** How long ended grants are kept, in seconds. */
const KEPT = { undecided: 6 * HOUR_SECONDS, unconsented: 24 * HOUR_SECONDS, decided: 72 * HOUR_SECONDS }
const PURGE = createPurgeStatements({
  undecidedSeconds: KEPT.undecided,
  unconsentedSeconds: KEPT.unconsented
})

let composed: TestDatabase
let plain: TestDatabase
let client: PrismaClient
let begin: BeginGrant
let closePool: () => Promise<void>

beforeAll(async () => {
  const migrationsPath = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
  ;[composed, plain] = await Promise.all([
    createTestDatabase({ migrationsPath }),
    createTestDatabase({ migrationsPath })
  ])
  // With one connection, statements run in the order in which they are sent.
  const pool = createPool({
    url: composed.url,
    connectionsMax: 1,
    applicationName: 'grants-together-test',
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 60_000
  })
  client = new PrismaClient({ adapter: createPrismaAdapter(pool, 'none') })
  begin = createBeginGrant({ database: client })
  closePool = () => pool.end()
})
afterAll(async () => {
  await client.$disconnect()
  await closePool()
  await Promise.all([composed.drop(), plain.drop()])
})

/** Grants by number: so few that they often meet, also in one batch. */
const NUMBERS = 7

interface GrantDraft {
  readonly number: number
  /** What it begins with. */
  readonly begins: 'token' | 'interaction'
  readonly byKey: boolean
  readonly items: number
  readonly finishes: boolean
  readonly asksForSubject: boolean
}

type Step = { readonly hoursLater: number } & (
  | { readonly kind: 'begin'; readonly grants: readonly GrantDraft[] }
  | { readonly kind: 'approve'; readonly number: number; readonly times: number; readonly withCode: boolean }
  | { readonly kind: 'issue'; readonly number: number; readonly times: number; readonly withToken: boolean }
  | { readonly kind: 'end'; readonly number: number; readonly times: number; readonly end: keyof typeof ENDS }
  | { readonly kind: 'spend'; readonly number: number }
  | { readonly kind: 'purge' }
)

/** How grants end: by their account holder, their client, or an operator. */
const ENDS = {
  reject: { state: 'rejected', from: ['pending'], reason: 'not mine' },
  cancel: { state: 'revoked', from: ['pending', 'approved', 'issued'] },
  revoke: { state: 'revoked', from: ['pending', 'approved', 'issued', 'rejected'] }
} as const satisfies Record<string, GrantEnd>

const number = fc.nat({ max: NUMBERS - 1 })
const times = fc.constantFrom(1, 1, 2)
const hoursLater = fc.constantFrom(0, 0, 1, 1, 5, 20, 60)
const draft: fc.Arbitrary<GrantDraft> = fc.record({
  number,
  begins: fc.constantFrom('token', 'interaction', 'interaction'),
  byKey: fc.boolean(),
  items: fc.nat({ max: 2 }),
  finishes: fc.boolean(),
  asksForSubject: fc.boolean()
})
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('begin'),
        hoursLater,
        grants: fc.array(draft, { minLength: 1, maxLength: 5 })
      })
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('approve'),
        hoursLater,
        number,
        times,
        withCode: fc.boolean()
      })
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('issue'), hoursLater, number, times, withToken: fc.boolean() })
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('end'),
        hoursLater,
        number,
        times,
        end: fc.constantFrom('reject', 'cancel', 'revoke')
      })
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('spend'), hoursLater, number }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('purge'), hoursLater }) }
  ),
  { minLength: 1, maxLength: 14 }
)

const ORDINARY: GrantDraft = {
  number: 0,
  begins: 'interaction',
  byKey: false,
  items: 1,
  finishes: true,
  asksForSubject: false
}
/** One of a batch is there already, and one comes twice. */
const DOUBLES: readonly Step[] = [
  { kind: 'begin', hoursLater: 0, grants: [ORDINARY, { ...ORDINARY, number: 1, begins: 'token' }] },
  {
    kind: 'begin',
    hoursLater: 0,
    grants: [{ ...ORDINARY, number: 2 }, ORDINARY, { ...ORDINARY, number: 2, items: 2 }]
  }
]
/** Each grant ends in another way, and all are purged, or kept. */
const LIVES: readonly Step[] = [
  {
    kind: 'begin',
    hoursLater: 0,
    grants: [0, 1, 2, 3, 4, 5, 6].map((each) => ({
      ...ORDINARY,
      number: each,
      begins: each === 5 ? 'token' : 'interaction'
    }))
  },
  ...[0, 1, 2, 6].map(
    (each) => ({ kind: 'approve', hoursLater: 0, number: each, times: 2, withCode: true }) as const
  ),
  ...[0, 1].map(
    (each) => ({ kind: 'issue', hoursLater: 0, number: each, times: 2, withToken: true }) as const
  ),
  { kind: 'issue', hoursLater: 0, number: 2, times: 1, withToken: false },
  { kind: 'spend', hoursLater: 0, number: 0 },
  { kind: 'end', hoursLater: 0, number: 0, times: 2, end: 'cancel' },
  { kind: 'end', hoursLater: 0, number: 4, times: 2, end: 'revoke' },
  { kind: 'end', hoursLater: 0, number: 3, times: 2, end: 'reject' },
  { kind: 'purge', hoursLater: 20 },
  { kind: 'purge', hoursLater: 20 },
  { kind: 'purge', hoursLater: 60 }
]

/** An id (UUID) that a kind of rows counts up. */
const idOf = (kind: number, each: number): string =>
  `${String(kind).padStart(8, '0')}-0000-4000-8000-${String(each).padStart(12, '0')}`
const grantId = (each: number): string => idOf(1, each)
const interactionId = (each: number): string => idOf(2, each)
const itemId = (each: number, position: number): string => idOf(3, each * 10 + position)
const hashOf = (kind: number, each: number): Buffer => Buffer.from([kind, each])
const asBytes = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`
const LIMIT = { value: 500n, asset: { code: 'USD', scale: 2 } }
const CODE = hashOf(9, 9)
const SUBJECT = { sub_ids: [{ id: 'https://wallet.example/alice', format: 'uri' as const }] }

const tokenOf = (kind: number, each: number, nowMs: number) => ({
  id: idOf(kind, each),
  hash: hashOf(kind, each),
  createdAtMs: nowMs,
  expiresAtMs: nowMs + HOUR_MS
})

/** What the service would begin a grant with. */
function beginningOf(grant: GrantDraft, nowMs: number): GrantBeginning {
  const { number: each, begins, byKey, items, finishes, asksForSubject } = grant
  const token = {
    ...tokenOf(4, each, nowMs),
    tellClient: () => ({ value: '', manage: '', expires_in: 1, access: [] })
  }
  return {
    grant: {
      id: grantId(each),
      state: begins === 'token' ? 'issued' : 'pending',
      holder: {
        walletAddress: byKey ? undefined : 'https://wallet.example/shop',
        jwkThumbprint: byKey ? 'thumbprint' : undefined,
        keyId: 'shop-1',
        keyX: 'x'
      },
      clientName: begins === 'token' ? undefined : 'Shop',
      continuationTokenHash: hashOf(1, each),
      access: Array.from({ length: items }, (_, position) => ({
        id: itemId(each, position),
        type: 'outgoing-payment' as const,
        actions: ['create', 'read'],
        identifier: 'https://wallet.example/alice',
        ...(position === 0 ? { limits: { debitAmount: LIMIT, interval: 'R/2025-01-01T00:00:00Z/P1D' } } : {})
      })),
      subject: asksForSubject ? SUBJECT : undefined,
      finish: finishes ? { uri: 'https://shop.example', nonce: 'nonce', hashMethod: undefined } : undefined,
      createdAtMs: nowMs,
      continueAfterMs: begins === 'token' ? undefined : nowMs + 5_000,
      aliveUntilMs: nowMs + HOUR_MS
    },
    ...(begins === 'token'
      ? { token }
      : {
          interaction: {
            id: interactionId(each),
            walletAddress: 'https://wallet.example/alice',
            nonce: 'nonce',
            reference: `reference ${String(each)}`,
            expiresAtMs: nowMs + 2 * HOUR_MS
          }
        })
  }
}

/** The rows of the same grants, by table. */
function rowsOf(
  drafts: readonly GrantDraft[],
  nowMs: number
): readonly (readonly [table: string, rows: object[]])[] {
  const [now, later] = [instantText(nowMs), instantText(nowMs + HOUR_MS)]
  const asking = drafts.filter(({ begins }) => begins === 'interaction')
  return [
    [
      'grant_request',
      drafts.map(({ number: each, begins, byKey, finishes, asksForSubject }) => ({
        id: grantId(each),
        state: begins === 'token' ? 'issued' : 'pending',
        client_wallet_address: byKey ? null : 'https://wallet.example/shop',
        client_jwk_thumbprint: byKey ? 'thumbprint' : null,
        client_name: begins === 'token' ? null : 'Shop',
        key_id: 'shop-1',
        key_x: 'x',
        continuation_token_hash: asBytes(hashOf(1, each)),
        continue_after: begins === 'token' ? null : instantText(nowMs + 5_000),
        finish_uri: finishes ? 'https://shop.example' : null,
        finish_nonce: finishes ? 'nonce' : null,
        subject: asksForSubject ? SUBJECT : null,
        created_at: now,
        updated_at: now,
        alive_until: later
      }))
    ],
    [
      'access_item',
      drafts.flatMap(({ number: each, items }) =>
        Array.from({ length: items }, (_, position) => ({
          id: itemId(each, position),
          grant_id: grantId(each),
          position,
          type: 'outgoing-payment',
          actions: ['create', 'read'],
          identifier: 'https://wallet.example/alice',
          limit_interval: position === 0 ? 'R/2025-01-01T00:00:00Z/P1D' : null,
          limit_debit_value: position === 0 ? '500' : null,
          limit_debit_code: position === 0 ? 'USD' : null,
          limit_debit_scale: position === 0 ? 2 : null
        }))
      )
    ],
    [
      'interaction',
      asking.map(({ number: each }) => ({
        id: interactionId(each),
        grant_id: grantId(each),
        wallet_address: 'https://wallet.example/alice',
        nonce: 'nonce',
        reference: `reference ${String(each)}`,
        state: 'PENDING',
        expires_at: instantText(nowMs + 2 * HOUR_MS),
        needs_consent_record: false
      }))
    ],
    [
      'access_token',
      drafts.filter(({ begins }) => begins === 'token').map(({ number: each }) => tokenRow(4, each, nowMs))
    ]
  ]
}

const tokenRow = (kind: number, each: number, nowMs: number): object => ({
  id: idOf(kind, each),
  grant_id: grantId(each),
  value_hash: asBytes(hashOf(kind, each)),
  created_at: instantText(nowMs),
  expires_at: instantText(nowMs + HOUR_MS)
})

async function insert(query: TestQuery, table: string, rows: readonly object[]): Promise<void> {
  await query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
    JSON.stringify(rows)
  ])
}

/** Takes a step as the service does, and tells what came of it. */
async function takeComposed(step: Step, nowMs: number): Promise<unknown> {
  switch (step.kind) {
    case 'begin': {
      const begun = await Promise.allSettled(step.grants.map((each) => begin(beginningOf(each, nowMs))))
      return begun.map(({ status }) => status === 'fulfilled')
    }
    case 'approve':
      return repeat(step.times, () =>
        approveGrant(client, {
          interactionId: interactionId(step.number),
          nowMs,
          continueBeforeMs: nowMs + HOUR_MS,
          finishCodeHash: step.withCode ? CODE : undefined,
          endsAtMs: undefined,
          granted: undefined,
          consentRecord: undefined,
          needsConsentRecord: false
        })
      )
    case 'issue': {
      const token = {
        ...tokenOf(5, step.number, nowMs),
        tellClient: () => ({ value: '', manage: '', expires_in: 1, access: [] })
      }
      return repeat(
        step.times,
        async () =>
          (await issueGrant(
            client,
            { id: grantId(step.number), access: [] },
            step.withToken ? token : undefined,
            nowMs
          )) instanceof Object
      )
    }
    case 'end': {
      const ending =
        step.end === 'reject'
          ? { interactionId: interactionId(step.number) }
          : { grantId: grantId(step.number) }
      return repeat(step.times, () => endGrant(client, ending, ENDS[step.end], nowMs))
    }
    case 'spend':
      return spend(composed.query, step.number)
    case 'purge': {
      const values = { now: instantText(nowMs), retentionSeconds: KEPT.decided, countMax: 100 }
      return PURGE.grant.rows(client, values)
    }
  }
}

const repeat = <Result>(count: number, act: () => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, act))

/** Takes the same step with plain statements, one for each table, in a transaction. */
async function takePlainly(step: Step, nowMs: number): Promise<unknown> {
  switch (step.kind) {
    case 'begin':
      return beginPlainly(step.grants, nowMs)
    case 'spend':
      return spend(plain.query, step.number)
    case 'purge':
      return plain.inTransaction((query) => purgePlainly(query, nowMs))
    default: {
      const results: boolean[] = []
      for (let time = 0; time < step.times; time += 1)
        results.push(
          await plain.inTransaction((query) => {
            if (step.kind === 'approve') return approvePlainly(query, step, nowMs)
            return step.kind === 'issue' ? issuePlainly(query, step, nowMs) : endPlainly(query, step, nowMs)
          })
        )
      return results
    }
  }
}

async function beginPlainly(drafts: readonly GrantDraft[], nowMs: number): Promise<boolean[]> {
  const write = async (some: readonly GrantDraft[]): Promise<boolean> => {
    try {
      await plain.inTransaction(async (query) => {
        for (const [table, rows] of rowsOf(some, nowMs)) await insert(query, table, rows)
      })
      return true
    } catch (error) {
      if (isUniqueViolation(error)) return false
      throw error
    }
  }
  if (await write(drafts)) return drafts.map(() => true)
  const begun: boolean[] = []
  for (const each of drafts) begun.push(await write([each]))
  return begun
}

async function approvePlainly(
  query: TestQuery,
  step: Extract<Step, { kind: 'approve' }>,
  nowMs: number
): Promise<boolean> {
  if (!(await isOpen(query, step.number, nowMs))) return false
  const approved = await query(
    `update grant_request set state = 'approved', continue_before = $2, updated_at = $3 where id = $1 and state = 'pending'
     returning 1`,
    [grantId(step.number), instantText(nowMs + HOUR_MS), instantText(nowMs)]
  )
  if (approved.length === 0) return false
  await query(`update interaction set state = 'APPROVED', finish_code_hash = $2 where id = $1`, [
    interactionId(step.number),
    step.withCode ? CODE : null
  ])
  return true
}

/** Whether an account holder can decide. */
async function isOpen(query: TestQuery, each: number, nowMs: number): Promise<boolean> {
  const open = await query(
    `select 1 from interaction where id = $1 and state = 'PENDING' and expires_at > $2`,
    [interactionId(each), instantText(nowMs)]
  )
  return open.length === 1
}

async function issuePlainly(
  query: TestQuery,
  step: Extract<Step, { kind: 'issue' }>,
  nowMs: number
): Promise<boolean> {
  const issued = await query(
    `update grant_request set state = 'issued', continue_after = null, continue_before = null, updated_at = $2
      where id = $1 and state = 'approved' returning 1`,
    [grantId(step.number), instantText(nowMs)]
  )
  if (issued.length === 0) return false
  if (step.withToken) await insert(query, 'access_token', [tokenRow(5, step.number, nowMs)])
  return true
}

async function endPlainly(
  query: TestQuery,
  step: Extract<Step, { kind: 'end' }>,
  nowMs: number
): Promise<boolean> {
  const { state, from, reason }: GrantEnd = ENDS[step.end]
  if (step.end === 'reject' && !(await isOpen(query, step.number, nowMs))) return false
  const ended = await query(
    `update grant_request set state = $2, continue_after = null, continue_before = null, updated_at = $4
      where id = $1 and state::text = any ($3) returning 1`,
    [grantId(step.number), state, from, instantText(nowMs)]
  )
  if (ended.length === 0) return false
  if (reason !== undefined)
    await query('update grant_request set rejection_reason = $2 where id = $1', [
      grantId(step.number),
      reason
    ])
  await query(
    `update access_token set ended_at = $2, end_reason = 'revoked' where grant_id = $1 and ended_at is null`,
    [grantId(step.number), instantText(nowMs)]
  )
  if (step.end === 'reject')
    await query(`update interaction set state = 'DENIED' where grant_id = $1`, [grantId(step.number)])
  return true
}

/** Money moves under a grant, if it exists: the same in both databases. */
async function spend(query: TestQuery, each: number): Promise<void> {
  await query(
    `insert into limit_window (access_item_id, interval_index, spent_debit_value, spent_receive_value, debit_code, debit_scale,
       receive_code, receive_scale, limit_debit_value)
     select id, 0, 1, 1, 'USD', 2, 'USD', 2, limit_debit_value from access_item where id = $1
     on conflict do nothing`,
    [itemId(each, 0)]
  )
}

interface PurgeableRow {
  readonly id: string
  readonly state: string
  readonly updated_at: Date
  readonly continue_before: Date | null
  readonly asked: string | null
  readonly asked_until: Date | null
  readonly tokens: readonly { readonly ended_at: string | null; readonly expires_at: string }[]
  readonly spent: boolean
}

async function purgePlainly(query: TestQuery, nowMs: number): Promise<unknown> {
  const shortestMs = Math.min(...Object.values(KEPT)) * 1_000
  const due = await query<PurgeableRow>(
    `select g.id, g.state, g.updated_at, g.continue_before, i.state as asked, i.expires_at as asked_until,
            (select coalesce(json_agg(t), '[]') from access_token t where t.grant_id = g.id) as tokens,
            exists (select 1 from access_item a join limit_window w on w.access_item_id = a.id where a.grant_id = g.id) as spent
       from grant_request g left join interaction i on i.grant_id = g.id
      where alive_until < $1`,
    [instantText(nowMs - shortestMs)]
  )
  const lookedAt = due.map((row) => ({ id: row.id, aliveUntilMs: aliveUntil(row) }))
  const isOver = ({ aliveUntilMs }: { aliveUntilMs: number | undefined }): boolean =>
    aliveUntilMs !== undefined && aliveUntilMs < nowMs - shortestMs
  const over = lookedAt.filter(isOver).map(({ id }) => id)
  for (const table of ['access_token', 'interaction', 'access_item'])
    await query(`delete from ${table} where grant_id = any ($1)`, [over])
  await query('delete from grant_request where id = any ($1)', [over])
  for (const { id, aliveUntilMs } of lookedAt.filter((row) => !isOver(row)))
    await query('update grant_request set alive_until = $2 where id = $1', [
      id,
      aliveUntilMs === undefined ? null : instantText(aliveUntilMs)
    ])
  return [{ lookedAt: due.length, purged: over.length }]

  function aliveUntil(row: PurgeableRow): number | undefined {
    const lives = row.tokens.some(({ ended_at: endedAt }) => endedAt === null)
    if (row.spent || (row.state === 'issued' && lives && row.asked === 'APPROVED')) return undefined
    const decided = row.asked === 'PENDING' ? KEPT.undecided : KEPT.decided
    return endOf(row) + (row.asked === null ? KEPT.unconsented : decided) * 1_000 - shortestMs
  }

  function endOf({
    state,
    updated_at: updatedAt,
    tokens,
    continue_before: before,
    asked_until: until
  }: PurgeableRow): number {
    if (state === 'rejected' || state === 'revoked') return updatedAt.getTime()
    if (state !== 'issued') return (before ?? until ?? updatedAt).getTime()
    const ends = tokens.map((token) => Date.parse(token.ended_at ?? token.expires_at))
    return ends.length === 0 ? updatedAt.getTime() : Math.max(...ends)
  }
}

const TABLES = ['grant_request', 'access_item', 'interaction', 'access_token', 'limit_window']

/** All rows of all tables. */
function contents({ query }: TestDatabase): Promise<unknown[]> {
  return Promise.all(TABLES.map((table) => query(`select * from ${table} order by 1`)))
}

/** What a step did, in short. */
function effectOf(step: Step, result: unknown): string[] {
  if (step.kind === 'purge') {
    const [{ lookedAt, purged }] = result as [{ lookedAt: number; purged: number }]
    return [...(purged > 0 ? ['purged'] : []), ...(lookedAt > purged ? ['put off'] : [])]
  }
  if (step.kind === 'spend') return []
  return (result as boolean[]).map((done) => `${step.kind === 'end' ? step.end : step.kind}: ${String(done)}`)
}

describe('the statements that change grants', () => {
  it('leave the tables as plain statements would', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        for (const { query } of [composed, plain]) await query(`truncate ${TABLES.join(', ')} cascade`)
        let nowMs = START_MS
        for (const step of taken) {
          nowMs += step.hoursLater * HOUR_MS
          const result = await takeComposed(step, nowMs)
          expect(await takePlainly(step, nowMs)).toEqual(result)
          expect(await contents(composed)).toEqual(await contents(plain))
          for (const effect of effectOf(step, result)) seen.add(effect)
        }
      }),
      { numRuns: 30, examples: [[DOUBLES], [LIVES]] }
    )
    expect([...seen].sort()).toEqual(
      [
        ...['approve', 'begin', 'cancel', 'issue', 'reject', 'revoke'].flatMap((kind) => [
          `${kind}: false`,
          `${kind}: true`
        ]),
        'purged',
        'put off'
      ].sort()
    )
  })
})
