import type { PrismaPg } from '@prisma/adapter-pg'
import { createPrismaAdapter } from './adapter.js'
import { createPatientPool, createPool, type DatabasePool, type PoolOptions } from './pool.js'

/** Options of a service's `PrismaClient`. */
export interface ClientOptions {
  readonly adapter: PrismaPg
  /** Prisma's own limits are shorter than the pool's: a busy database would be reported as unavailable. */
  readonly transactionOptions: { readonly maxWait: number; readonly timeout: number }
}

/** An open database of a service. Whoever opened it closes it. */
export interface OpenDatabase<Client> {
  readonly pool: DatabasePool
  /** The client for every statement. */
  readonly database: Client
  readonly patientPool: DatabasePool
  /** For reading whole tables: its statements may take long (`readSnapshot`). */
  readonly patientDatabase: Client
  readonly close: () => Promise<void>
}

/**
 * Opens a service's database. Connects lazily.
 *
 * @param createClient creates its generated `PrismaClient`
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
