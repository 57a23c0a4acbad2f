import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sqltag as sql } from '@prisma/client/runtime/client'
import type pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { openRawClient } from '../test/support/raw-client.js'
import { placeholder, readBytes, Statement } from './index.js'

let pool: pg.Pool
beforeAll(() => {
  pool = openPool({ connectionsMax: 1 })
})
afterAll(() => pool.end())

/** What the one connection has prepared. */
const prepared = async (): Promise<readonly string[]> =>
  (await pool.query<{ name: string }>('select name from pg_prepared_statements order by name')).rows.map(
    ({ name }) => name
  )

const doubled = sql`doubled as (select 2 * n as n from wanted)`
const double = new Statement<{ n: number }>(
  'double-numbers',
  sql`with wanted as (select unnest(${placeholder('numbers')}::integer[]) as n), ${doubled} select n from doubled order by n`
)

describe('a statement', () => {
  it('composed of fragments, is prepared once under its name, whatever its values', async () => {
    const client = openRawClient(pool)
    expect(await double.rows(client, { numbers: [1, 2] })).toEqual([{ n: 2 }, { n: 4 }])
    expect(await double.rows(client, { numbers: [] })).toEqual([])
    expect(await prepared()).toEqual(['double-numbers'])
  })

  it('is not prepared where the next one may reach another session', async () => {
    await pool.query('deallocate all')
    const other = openPool({ connectionsMax: 1, pooler: 'transaction' })
    await double.rows(openRawClient(other, 'transaction'), { numbers: [1] })
    expect((await other.query('select name from pg_prepared_statements')).rows).toEqual([])
    await other.end()
  })

  it('names a missing value', async () => {
    expect(await failureOf(double.rows(openRawClient(pool), {}))).toMatchObject({
      message: 'the statement double-numbers is sent without numbers'
    })
  })

  it('has a name that is safe in a comment', () => {
    expect(() => new Statement('a */ b', sql`select 1`)).toThrow('does not name a statement')
  })
})

describe('the rows of a statement', () => {
  const rowsOf = <Row>(text: ReturnType<typeof sql>): Promise<readonly Row[]> =>
    new Statement<Row>('some-rows', text, { prepared: false }).rows(openRawClient(pool), {})

  it('come in their order, with their nulls, nested values and texts as they are', async () => {
    const text = sql`select n, null as nothing, jsonb_build_object('n', 1e3, 'at', '2026-01-01T00:00:00Z') as metadata,
                            'it''s "(a) -- b' as text, array[1, 2] as numbers from generate_series(3, 1, -1) n`
    const rest = {
      nothing: null,
      metadata: { n: 1000, at: '2026-01-01T00:00:00Z' },
      text: `it's "(a) -- b`,
      numbers: [1, 2]
    }
    expect(await rowsOf(text)).toEqual([3, 2, 1].map((n) => ({ n, ...rest })))
  })

  it('have dates where they are named as instants, and text where text is', async () => {
    const text = sql`select timestamptz '2026-01-01 01:00+01' as created_at, timestamptz '2026-01-01 00:00Z' as "continueAfter",
                            null::timestamptz as ended_at, '2026-01-01T00:00:00Z' as client`
    const instant = new Date('2026-01-01T00:00:00Z')
    expect(await rowsOf(text)).toEqual([
      { created_at: instant, continueAfter: instant, ended_at: null, client: '2026-01-01T00:00:00Z' }
    ])
  })

  it('have bytes as text that can be read', async () => {
    const [row] = await rowsOf<{ bytes: string }>(sql`select '\\x00ff'::bytea as bytes`)
    expect(readBytes(row?.bytes ?? '')).toEqual(Buffer.from([0, 255]))
  })

  it('are those of the main select, whatever is selected or written before it', async () => {
    const text = sql`
      with a as (select 1 as n), -- not (this select
      b as (select n from a union all select 2)
      select n from b where n = any (array(select n from b)) union all select 3 order by n desc -- last`
    expect(await rowsOf(text)).toEqual([{ n: 3 }, { n: 2 }, { n: 1 }])
    expect(await rowsOf(sql`select 1 where false`)).toEqual([])
  })

  it('are whole, whatever their columns are called', async () => {
    expect(await rowsOf(sql`select 1 as found, 2 as rows`)).toEqual([{ found: 1, rows: 2 }])
  })

  it('are those that a statement without a select returns', async () => {
    await pool.query('create temporary table written (n integer)')
    expect(await rowsOf(sql`insert into written select 7 returning n`)).toEqual([{ n: 7 }])
    expect(await rowsOf(sql`with gone as (delete from written returning n) select n from gone`)).toEqual([
      { n: 7 }
    ])
  })
})

it('rare statements and those of Prisma models are not prepared', async () => {
  const client = openRawClient(openPoolOfOne())
  const rare = new Statement('rare-one', sql`select 1 as one`, { prepared: false })
  expect(await rare.rows(client, {})).toEqual([{ one: 1 }])
  await client.$queryRaw(sql`select 1 where 1 = ${1}::integer`)
  expect(await client.$queryRaw(sql`select name from pg_prepared_statements`)).toEqual([])
})

const opened: pg.Pool[] = []
afterAll(() => Promise.all(opened.map((one) => one.end())))
function openPoolOfOne(): pg.Pool {
  const one = openPool({ connectionsMax: 1 })
  opened.push(one)
  return one
}
