import { fileURLToPath } from 'node:url'
import { migrateDatabase } from '@open-payments-server/database'
import { createLogger, runProcess } from '@open-payments-server/runtime'
import { composeResourceServer } from './compose.js'
import { loadConfig } from './config.js'

// `node main.js` runs the service; `node main.js migrate` brings its database up to date and exits.

try {
  const config = loadConfig(process.env)
  const logger = createLogger({ service: 'resource-server', level: config.LOG_LEVEL })
  if (process.argv[2] === 'migrate') {
    const { applied } = await migrateDatabase({
      url: config.DATABASE_URL.reveal(),
      schemaPath: fileURLToPath(new URL('../prisma/schema.prisma', import.meta.url)),
      migrationsPath: fileURLToPath(new URL('../prisma/migrations', import.meta.url))
    })
    logger.info({ applied }, 'the database is up to date')
  } else {
    runProcess({
      logger,
      graceMs: config.SHUTDOWN_GRACE_SECONDS * 1_000,
      start: () => composeResourceServer(config, { logger })
    })
  }
} catch (error) {
  // Nothing runs yet: a sentence a person can act on says more than a stack.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
