import { afterAll, expect, it } from '@jest/globals'
import { openPool } from '../test/support/open-pool.js'
import { instantText } from './index.js'

const pool = openPool()
afterAll(() => pool.end())

it.each([0, Date.UTC(2026, 0, 31, 12, 0, 0, 7), 2 ** 48 - 1])(
  '%d ms are read as they were meant',
  async (ms) => {
    const { rows } = await pool.query<{ ms: string }>(
      'select (extract(epoch from $1::timestamptz) * 1000)::bigint::text as ms',
      [instantText(ms)]
    )
    expect(rows).toEqual([{ ms: String(ms) }])
  }
)
