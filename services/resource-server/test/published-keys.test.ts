import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import { createPublishedKeyDirectory } from '../src/modules/wallet-addresses/index.js'
import { openDatabase } from './support/open-database.js'
import { startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

let service: TestResourceServer

beforeAll(async () => {
  service = await startTestResourceServer()
})
afterAll(() => service.stop())

const createDirectory = () => createPublishedKeyDirectory({ database: openDatabase(service.server.pool) })

it('keys that many ask for at once are looked up once, and answered at once from then on', async () => {
  // They are remembered for a second, which a busy machine may take for the lookup.
  const time = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
  const directory = createDirectory()
  const record = recordStatements(service.server.pool)
  const [first, ...others] = await Promise.all(
    ['/alice', '/alice', '/alice'].map(async (path) => directory.findKeys(path))
  )
  const known = directory.findKeys('/alice')
  time.mockRestore()
  record.stop()
  expect(first).toEqual({ keys: [] })
  // The very same, so that they are rendered once.
  for (const keys of [...others, known]) expect(keys).toBe(first)
  expect(record.statements.filter((text) => text.includes('client_key'))).toHaveLength(1)
})

it('keys that were forgotten while they were looked up are looked up anew', async () => {
  const directory = createDirectory()
  const outdated = directory.findKeys('/alice')
  directory.forget('/alice')
  await outdated
  const asked = directory.findKeys('/alice')
  expect(asked).toBeInstanceOf(Promise)
  const keys = await asked
  expect(keys).not.toBe(await outdated)
  expect(directory.findKeys('/alice')).toBe(keys)
})

it('keys of a wallet address that is not there are not remembered', async () => {
  const directory = createDirectory()
  expect(await directory.findKeys('/nobody')).toBeUndefined()
  expect(directory.findKeys('/nobody')).toBeInstanceOf(Promise)
})
