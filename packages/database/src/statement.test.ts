import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sqltag as sql } from '@prisma/client/runtime/client'
import type pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { openRawClient } from '../test/support/raw-client.js'
import { placeholder, Statement } from './index.js'

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
