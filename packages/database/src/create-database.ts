import pg from 'pg'
import { isDuplicateDatabase } from './errors.js'

/** PostgreSQL silently truncates longer names, so two of them could become one. */
const nameBytesMax = 63

/**
 * Creates a database, owned by the connecting user, unless it exists. Several processes may do so at once.
 *
 * @param options.adminUrl a database of the same server to connect to, as a user who may create databases
 * @throws Error for a name longer than 63 bytes, and the server's other errors
 */
export async function createDatabaseIfMissing(options: { adminUrl: string; name: string }): Promise<void> {
  const { adminUrl, name } = options
  if (Buffer.byteLength(name) > nameBytesMax) {
    throw new Error(`the database name ${name} is longer than ${String(nameBytesMax)} bytes`)
  }
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [name])
    if (found.rowCount === 0) {
      // template0, because a session on template1 would make this fail.
      await client.query(`create database ${pg.escapeIdentifier(name)} template template0`)
    }
  } catch (error) {
    if (!isDuplicateDatabase(error)) throw error
  } finally {
    await client.end()
  }
}
