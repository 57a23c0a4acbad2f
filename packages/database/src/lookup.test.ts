import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Pool } from 'pg'
import { openPool } from '../test/support/open-pool.js'
import { createLookup } from './index.js'

let pool: Pool

beforeAll(() => {
  pool = openPool()
})
afterAll(() => pool.end())

const lookUp = (name: string, text: string) =>
  createLookup(
    async (ids) => (await pool.query<{ id: string; asked: string[] }>({ name, text, values: [ids] })).rows
  )

it('concurrent lookups share a statement, and each caller gets its row', async () => {
  const find = lookUp(
    'lookup-together',
    `select id, $1::text[] as asked from unnest($1::text[]) as id where id <> 'missing'`
  )
  const found = await Promise.all(['a', 'b', 'missing', 'c', 'b'].map(find))
  expect(found.map((row) => row?.id)).toEqual(['a', 'b', undefined, 'c', 'b'])
  const together = ['a', 'b', 'missing', 'c', 'b']
  expect(found.map((row) => row?.asked)).toEqual([together, together, undefined, together, together])
})

it('a failed statement fails all its callers, and the next lookup retries', async () => {
  const find = lookUp(
    'lookup-failing',
    `select id::text, array[]::text[] as asked from unnest($1::integer[]) as id`
  )
  const shared = await Promise.allSettled(['2', 'x', '3'].map(find))
  expect(shared.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect((await find('4'))?.id).toBe('4')
})
