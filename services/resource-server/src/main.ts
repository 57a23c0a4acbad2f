import { fileURLToPath } from 'node:url'
import { migrateDatabase } from '@open-payments-server/database'
import { createLogger, readVersion, runProcess } from '@open-payments-server/runtime'
import { withTelemetry } from '@open-payments-server/telemetry'
import { composeResourceServer } from './compose.js'
import { loadConfig } from './config.js'

// `node main.js` runs the service; `node main.js migrate` brings its database up to date and exits.

const MANIFEST = new URL('../package.json', import.meta.url)

try {
  const config = loadConfig(process.env)
  const logger = createLogger({ service: 'resource-server', level: config.LOG_LEVEL })
  if (process.argv[2] === 'migrate') {
    const { applied } = await migrateDatabase({
      url: config.DATABASE_URL.reveal(),
      schemaPath: fileURLToPath(new URL('../prisma/schema.prisma', import.meta.url)),
      migrationsPath: fileURLToPath(new URL('../prisma/migrations', import.meta.url)),
      log: (line) => {
        logger.info(line)
      }
    })
    logger.info({ applied }, 'the database is up to date')
  } else {
    runProcess({
      logger,
      stopMs: (config.SHUTDOWN_DELAY_SECONDS + config.SHUTDOWN_GRACE_SECONDS) * 1_000,
      start: () => {
        const source = { service: 'resource-server', version: readVersion(MANIFEST), logger }
        return withTelemetry(config, source, () => composeResourceServer(config, { logger }))
      }
    })
  }
} catch (error) {
  // Nothing runs yet: a sentence a person can act on says more than a stack.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
