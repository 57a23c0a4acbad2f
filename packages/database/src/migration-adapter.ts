import { PrismaPg } from '@prisma/adapter-pg'
import {
  ColumnTypeEnum,
  DriverAdapterError,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory
} from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { type LockWaiting, runMigration } from './run-migration.js'

/**
 * Prisma's adapter, except for how scripts are run. The original splits scripts at every semicolon, even inside strings and
 * function bodies, and sends the pieces one by one, so a failure would leave half a migration.
 */
export class MigrationAdapterFactory extends PrismaPg {
  /** The script that failed, and why; the engine reports that in other words. */
  failure: { readonly script: string; readonly error: unknown } | undefined
  readonly #waiting: LockWaiting

  /** @param pool of a single connection */
  constructor(pool: pg.Pool, waiting: LockWaiting) {
    super(pool)
    this.#waiting = waiting
  }

  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect()
    const pool = adapter.underlyingDriver()
    const executeScript: SqlDriverAdapter['executeScript'] = async (script) => {
      try {
        await runMigration(pool, script, this.#waiting)
      } catch (error) {
        this.failure = { script, error }
        throw error instanceof pg.DatabaseError ? asAdapterError(error) : error
      }
    }
    return Object.assign(adapter, { executeScript })
  }
}

const oldestServer = { name: 'PostgreSQL 15', number: 150_000 }

/**
 * Answers the one query the engine sends on connecting (does the schema exist, and which server is it?) and nothing else.
 * That is enough to compare schema files, which needs no database; anything more is refused.
 */
export const adapterWithoutDatabase: SqlMigrationAwareDriverAdapterFactory = {
  provider: 'postgres',
  adapterName: '@prisma/adapter-pg',
  connect: () => Promise.resolve(silentConnection),
  connectToShadowDb: refuse
}

const silentConnection: SqlDriverAdapter = {
  provider: 'postgres',
  adapterName: '@prisma/adapter-pg',
  queryRaw: ({ sql }) =>
    sql.includes('server_version_num')
      ? Promise.resolve({
          columnNames: ['exists', 'version', 'numeric_version'],
          columnTypes: [ColumnTypeEnum.Boolean, ColumnTypeEnum.Text, ColumnTypeEnum.Int32],
          rows: [[true, oldestServer.name, oldestServer.number]]
        })
      : refuse(),
  executeRaw: refuse,
  executeScript: refuse,
  startTransaction: refuse,
  dispose: () => Promise.resolve()
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('there is no database here: only schema files are compared'))
}

function asAdapterError(error: pg.DatabaseError): DriverAdapterError {
  const { message, detail, column, hint } = error
  return new DriverAdapterError({
    kind: 'postgres',
    code: error.code ?? 'unknown',
    severity: error.severity ?? 'ERROR',
    message,
    detail,
    column,
    hint
  })
}
