import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  createPool,
  type DatabasePool,
  isSerializationFailure,
  isUnavailable,
  isUniqueViolation
} from '@open-payments-server/database'
import { createTestDatabase, type TestDatabase } from '@open-payments-server/testing'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../src/generated/prisma/client.js'

const statementTimeoutMs = 2_000
/** Long enough to connect on a busy machine. */
const connectTimeoutMs = 10_000
const prismaFolder = fileURLToPath(new URL('../prisma/', import.meta.url))

let database: TestDatabase
let pool: DatabasePool
let prisma: PrismaClient

beforeAll(async () => {
  database = await createTestDatabase({
    migrationsPath: `${prismaFolder}migrations`
  })
  pool = newPool(database.url)
  prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  await prisma.grant.create({ data: grant })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

describe('errors of the database, as the Prisma client reports them', () => {
  it('recognises a primary key that is taken', async () => {
    const errors = [
      await failureOf(prisma.grant.create({ data: grant })),
      await failureOf(prisma.$transaction([prisma.grant.create({ data: grant })])),
      await failureOf(prisma.$transaction((transaction) => transaction.grant.create({ data: grant }))),
      await failureOf(prisma.$queryRaw`insert into grant_request select * from grant_request`)
    ]
    for (const error of errors) {
      expect(recognised(error)).toEqual(['isUniqueViolation'])
      expect(isUniqueViolation(error, 'grant_request_pkey')).toBe(true)
      expect(isUniqueViolation(error, 'interaction_pkey')).toBe(false)
    }
  })

  it('takes a check that is not met for nothing else', async () => {
    const data = {
      ...grant,
      id: '00000000-0000-7000-8000-000000000002',
      finishUri: 'https://client.example/'
    }
    const errors = [
      await failureOf(prisma.grant.create({ data })),
      await failureOf(prisma.$transaction((transaction) => transaction.grant.create({ data }))),
      await failureOf(prisma.$executeRaw`update grant_request set finish_uri = 'https://client.example/'`)
    ]
    for (const error of errors) {
      expect(String(error)).toContain('grant_request_finish_whole')
      expect(recognised(error)).toEqual([])
    }
  })

  it('recognises a transaction that lost against another', async () => {
    const loses = prisma.$transaction(
      async (transaction) => {
        await transaction.grant.findMany()
        await database.query(`update grant_request set rejection_reason = 'changed meanwhile'`)
        await transaction.grant.updateMany({ data: { rejectionReason: 'too late' } })
      },
      { isolationLevel: 'RepeatableRead' }
    )
    expect(recognised(await failureOf(loses))).toEqual(['isSerializationFailure'])
  })

  it('recognises a database that does not answer in time', async () => {
    expect(recognised(await failureOf(prisma.$queryRaw`select pg_sleep(60)::text`))).toEqual([
      'isUnavailable'
    ])
  })

  it('recognises a session that was ended', async () => {
    const ends = prisma.$queryRaw`select pg_terminate_backend(pg_backend_pid())`
    expect(recognised(await failureOf(ends))).toEqual(['isUnavailable'])
    await expect(prisma.grant.count()).resolves.toBe(1)
  })

  it('recognises a database that is not there', async () => {
    const nowhere = newPool('postgresql://postgres@127.0.0.1:1/postgres')
    const lost = new PrismaClient({ adapter: new PrismaPg(nowhere) })
    for (const attempt of [
      () => lost.grant.count(),
      () => lost.$queryRaw`select 1`,
      () => lost.$transaction([lost.grant.count()]),
      () => lost.$transaction((transaction) => transaction.grant.count())
    ]) {
      expect(recognised(await failureOf(attempt()))).toEqual(['isUnavailable'])
    }
    await nowhere.end()
  })

  it('recognises that no connection was free in time', async () => {
    const small = newPool(database.url, { connectionsMax: 1, connectTimeoutMs: 2_000 })
    const waiting = new PrismaClient({ adapter: new PrismaPg(small) })
    const taken = await small.connect()
    for (const attempt of [
      () => waiting.grant.count(),
      () => waiting.$queryRaw`select 1`,
      () => waiting.$transaction((transaction) => transaction.grant.count())
    ]) {
      expect(recognised(await failureOf(attempt()))).toEqual(['isUnavailable'])
    }
    taken.release()
    await small.end()
  })

  it('takes a mistake in a statement for none of these', async () => {
    expect(recognised(await failureOf(prisma.$queryRaw`select nothing_like_this`))).toEqual([])
    expect(recognised(await failureOf(prisma.grant.update({ where: { id: missingId }, data: {} })))).toEqual(
      []
    )
  })
})

const missingId = '00000000-0000-7000-8000-00000000ffff'
const grant = {
  id: '00000000-0000-7000-8000-000000000001',
  state: 'pending' as const,
  clientWalletAddress: 'https://shop.example/',
  keyId: 'key',
  keyX: 'x',
  continuationTokenHash: new Uint8Array(32),
  createdAt: new Date(0),
  updatedAt: new Date(0)
}

function newPool(
  url: string,
  options: { readonly connectionsMax?: number; readonly connectTimeoutMs?: number } = {}
): DatabasePool {
  const defaults = { connectionsMax: 3, statementTimeoutMs, connectTimeoutMs }
  return createPool({ url, applicationName: 'database-errors-test', ...defaults, ...options })
}

function recognised(error: unknown): string[] {
  const kinds = { isUniqueViolation, isSerializationFailure, isUnavailable }
  return Object.entries(kinds).flatMap(([name, isKind]) => (isKind(error) ? [name] : []))
}

async function failureOf(attempt: PromiseLike<unknown>): Promise<unknown> {
  try {
    await attempt
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
