// A process of its own, so that nothing but these statements adds to what is old. Prints how many bytes of their results each
// way of asking leaves there.
import { setImmediate } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import pg from 'pg'
import { createPool } from '../dist/index.js'

const url = process.env.TEST_POSTGRES_URL
const statement = `select repeat('x', 100) || n as text from generate_series(1, 200) n`

const pool = createPool({
  url,
  connectionsMax: 2,
  applicationName: 'measure-old-results',
  statementTimeoutMs: 20_000,
  connectTimeoutMs: 20_000
})
const connection = await pool.connect()
const limitedByPg = new pg.Client({ connectionString: url, query_timeout: 20_000 })
await limitedByPg.connect()

const bytes = {
  pool: await measure(pool),
  connection: await measure(connection),
  limitedByPg: await measure(limitedByPg)
}
connection.release()
await Promise.all([pool.end(), limitedByPg.end()])
process.stdout.write(JSON.stringify(bytes))

async function measure(asked) {
  // Code that is compiled meanwhile is old, too.
  for (let times = 0; times < 50; times += 1) await ask(asked)
  globalThis.gc()
  let promotedBytes = 0
  for (let times = 0; times < 100; times += 1) {
    const before = oldBytes()
    await ask(asked)
    // Whoever waited for it has gone on, so that no frame still holds it.
    await setImmediate()
    // What survives twice is old.
    globalThis.gc({ type: 'minor' })
    globalThis.gc({ type: 'minor' })
    // V8 may collect old objects at any time: what is gone by then had become old all the same.
    promotedBytes += Math.max(0, oldBytes() - before)
  }
  return promotedBytes
}

async function ask(asked) {
  const { rows } = await asked.query(statement)
  if (rows.length !== 200) throw new Error(`there are ${String(rows.length)} rows`)
}

function oldBytes() {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size
}
