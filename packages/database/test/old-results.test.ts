import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

it('a discarded result is collected young, unlike with the query_timeout of pg', async () => {
  if (!existsSync(new URL('../dist/index.js', import.meta.url)))
    throw new Error('packages/database is not built: run the tests with npm test')
  const script = fileURLToPath(new URL('measure-old-results.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script], {
    env: { PATH: process.env.PATH, TEST_POSTGRES_URL: process.env.TEST_POSTGRES_URL }
  })
  const oldBytes = JSON.parse(stdout) as Record<'pool' | 'connection' | 'limitedByPg', number>
  // All results of one way to ask take four megabytes.
  expect(oldBytes.pool).toBeLessThan(1_500_000)
  expect(oldBytes.connection).toBeLessThan(1_500_000)
  expect(oldBytes.limitedByPg).toBeGreaterThan(2_500_000)
})
