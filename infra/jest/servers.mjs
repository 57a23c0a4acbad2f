// One PostgreSQL and one Redis for the whole test run. Each test file makes databases and key prefixes of its own.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const localServices = join(root, 'packages', 'local-services')

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
 * Starts the servers and says where they are in TEST_POSTGRES_URL (a superuser) and TEST_REDIS_URL (absent when this
 * machine has no redis-server). Addresses that are set already win, and nothing is started for them.
 */
export async function startServers() {
  const { startPostgres, startRedis } = await importLocalServices()
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

/** Tests run without a build, except for this package: it is needed before any test can run, and built when it changed. */
async function importLocalServices() {
  if (newest(join(localServices, 'src')) > newest(join(localServices, 'dist'))) {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const project = join(localServices, 'tsconfig.build.json')
    const { status } = spawnSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' })
    if (status !== 0) throw new Error('packages/local-services does not compile')
  }
  return import(join(localServices, 'dist', 'index.js'))
}

/** When the newest file of a folder was written; 0 for a folder that is empty or missing. */
function newest(folder) {
  try {
    return Math.max(0, ...readdirSync(folder).map((name) => statSync(join(folder, name)).mtimeMs))
  } catch {
    return 0
  }
}
