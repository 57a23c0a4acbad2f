import { expect, it } from '@jest/globals'
import { backoffMs } from './backoff.js'

it('deliveries that fail are tried again soon at first, then ever later, and never given up', () => {
  const longest = [1, 2, 3, 8, 9, 100, 10_000].map((attempts) => backoffMs(attempts, () => 1))
  expect(longest).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000])
  expect(backoffMs(1, () => 0)).toBe(500)
})
