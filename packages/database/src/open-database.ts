import type { PrismaPg } from '@prisma/adapter-pg'
import { createPrismaAdapter } from './adapter.js'
import { createPatientPool, createPool, type DatabasePool, type PoolOptions } from './pool.js'

/** What a service's `PrismaClient` is made with. */
export interface ClientOptions {
  readonly adapter: PrismaPg
  /** Its own limits are shorter than the pool's: a busy database would be answered as one that is away. */
  readonly transactionOptions: { readonly maxWait: number; readonly timeout: number }
}

/** A service's database, opened. Whoever opened it closes it. */
export interface OpenDatabase<Client> {
  readonly pool: DatabasePool
  /** What every statement goes through. */
  readonly database: Client
  readonly patientPool: DatabasePool
  /** For what reads whole tables: its statements may take long (`readSnapshot`). */
  readonly patientDatabase: Client
  readonly close: () => Promise<void>
}

/**
 * Opens a service's database. Connects lazily.
 *
 * @param createClient makes its generated `PrismaClient`
 */
export function openDatabase<Client extends { $disconnect(): Promise<void> }>(
  options: PoolOptions,
  createClient: (options: ClientOptions) => Client
): OpenDatabase<Client> {
  const { connectTimeoutMs: maxWait, statementTimeoutMs: timeout, pooler = 'none' } = options
  const pool = createPool(options)
  const patientPool = createPatientPool(options)
  const clientOf = (on: DatabasePool): Client =>
    createClient({ adapter: createPrismaAdapter(on, pooler), transactionOptions: { maxWait, timeout } })
  const [database, patientDatabase] = [clientOf(pool), clientOf(patientPool)]
  return {
    pool,
    database,
    patientPool,
    patientDatabase,
    async close() {
      await Promise.all([database.$disconnect(), patientDatabase.$disconnect()])
      await Promise.all([pool.end(), patientPool.end()])
    }
  }
}
