import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Pool } from 'pg'
import { openPool } from '../test/support/open-pool.js'
import { writeTogether } from './index.js'

let pool: Pool
const statements: (readonly number[])[] = []
const table = `write_together_${randomUUID().replaceAll('-', '')}`

beforeAll(async () => {
  pool = openPool()
  await pool.query(`create table ${table} (value integer primary key check (value <> 13))`)
})
afterAll(async () => {
  await pool.query(`drop table ${table}`)
  await pool.end()
})

const open = () =>
  writeTogether(async (values: readonly number[]) => {
    statements.push(values)
    await pool.query(`insert into ${table} select * from unnest($1::integer[])`, [values])
    return values.map((value) => `kept ${String(value)}`)
  })

it('concurrent items share a statement, and each gets its own result', async () => {
  statements.length = 0
  const kept = await Promise.all([1, 2, 3].map(open()))
  expect(kept).toEqual(['kept 1', 'kept 2', 'kept 3'])
  expect(statements).toEqual([[1, 2, 3]])
})

it('an item that the database refuses fails alone', async () => {
  const results = await Promise.allSettled([20, 21, 13, 22].map(open()))
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  const { rows } = await pool.query(`select value from ${table} where value between 13 and 29 order by value`)
  expect(rows).toEqual([{ value: 20 }, { value: 21 }, { value: 22 }])
})

it('an unreachable database fails the batch without retrying its items', async () => {
  let attempts = 0
  const write = writeTogether((): Promise<never[]> => {
    attempts += 1
    return Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' }))
  })
  const results = await Promise.allSettled([1, 2, 3].map(write))
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  expect(attempts).toBe(1)
})
