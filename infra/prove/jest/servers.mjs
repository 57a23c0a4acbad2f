// One PostgreSQL and one Redis for the whole test run. Each test file makes databases and key prefixes of its own.
import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importBuilt } from './built-packages.mjs'

// fsync is off: data need not survive a power cut. Everything else about commits is as in production, isolation,
// locks, synchronous_commit and recovery after a killed server included.
const postgresSettings = {
  max_connections: '300',
  fsync: 'off',
  full_page_writes: 'off',
  log_min_messages: 'fatal'
}

const running = []

/**
 * Starts the servers and sets TEST_POSTGRES_URL (a superuser) and TEST_REDIS_URL (unset if there is no redis-server). A server
 * whose URL is already set is not started.
 */
export async function startServers() {
  const { startPostgres, startRedis } = await importBuilt('local-services')
  if (!process.env.TEST_POSTGRES_URL) {
    const directory = await mkdtemp(join(await realpath(tmpdir()), 'open-payments-tests-'))
    const postgres = await startPostgres({ directory, persistent: false, settings: postgresSettings })
    running.push(postgres)
    process.env.TEST_POSTGRES_URL = postgres.url
  }
  if (!process.env.TEST_REDIS_URL) {
    const redis = process.env.REDIS_URL ? undefined : await startRedis()
    if (redis) running.push(redis)
    const url = process.env.REDIS_URL ?? redis?.url
    if (url) process.env.TEST_REDIS_URL = url
  }
}

/** Stops the servers that startServers started. */
export async function stopServers() {
  await Promise.all(running.splice(0).map((server) => server.stop()))
}
