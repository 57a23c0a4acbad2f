import { fileURLToPath } from 'node:url'
import { migrateDatabase } from '@open-payments-server/database'
import { createLogger, runProcess } from '@open-payments-server/runtime'
import { composeAuthServer } from './compose.js'
import { type AuthServerConfig, loadConfig } from './config.js'

const config = readConfig()
const logger = createLogger({ service: 'auth-server', level: config.LOG_LEVEL })

if (process.argv[2] === 'migrate') {
  const prisma = fileURLToPath(new URL('../prisma/', import.meta.url))
  const { applied } = await migrateDatabase({
    url: config.DATABASE_URL.reveal(),
    schemaPath: `${prisma}schema.prisma`,
    migrationsPath: `${prisma}migrations`
  })
  logger.info({ applied }, 'database is up to date')
} else {
  runProcess({
    logger,
    graceMs: (config.SHUTDOWN_GRACE_SECONDS + 5) * 1_000,
    start: () => composeAuthServer(config, { logger })
  })
}

function readConfig(): AuthServerConfig {
  try {
    return loadConfig(process.env)
  } catch (error) {
    // Before there is a logger: what to change, without a stack.
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
}
