import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { type Environment, loadMigrationConfiguration } from '@open-payments-server/runtime/configuration'
import { migrateDatabase } from '@open-payments-server/database'
import {
  createLogger,
  type Logger,
  type LogLevel,
  readVersion,
  runProcess,
  type RunningService
} from '@open-payments-server/runtime'
import { type TelemetryConfig, withTelemetry } from '../telemetry/index.js'

const MS_PER_SECOND = 1_000

/**
 * V8's handling of WebAssembly, which here is only Prisma's query compiler and nothing that runs for each request: compile
 * it quickly and once. Optimizing it costs a second of CPU time and 60 MiB that the process never returns, and makes no
 * query faster.
 */
const WEB_ASSEMBLY_FLAG = '--liftoff-only'

/** The settings of a service that its program uses. */
export interface ProgramConfig extends TelemetryConfig {
  readonly LOG_LEVEL: LogLevel
  readonly SHUTDOWN_DELAY_SECONDS: number
  readonly SHUTDOWN_GRACE_SECONDS: number
}

/** A service as a program. */
export interface ServiceProgram<Config extends ProgramConfig> {
  /** Its name in logs and traces. */
  readonly name: string
  /** Folder of its `package.json` and of `prisma/`. */
  readonly folder: URL
  /** @throws ConfigurationError */
  readonly loadConfig: (environment: Environment) => Config
  readonly compose: (config: Config, surroundings: { readonly logger: Logger }) => Promise<RunningService>
}

/**
 * Executes the process's arguments: without any, it runs the service until it is stopped; `migrate` brings its database up
 * to date, which needs only the setting `DATABASE_URL`.
 */
export async function runServiceProgram<Config extends ProgramConfig>(
  program: ServiceProgram<Config>
): Promise<void> {
  // Here and not on the command line, so that it applies however a service is started.
  setFlagsFromString(WEB_ASSEMBLY_FLAG)
  const [command, ...rest] = process.argv.slice(2)
  try {
    if (command === undefined) run(program)
    else if (command === 'migrate' && rest.length === 0) await migrate(program)
    else throw new Error(`${[command, ...rest].join(' ')} is not known here: give migrate, or nothing`)
  } catch (error) {
    // Nothing runs yet: a sentence that a person can act on is better than a stack trace, which would show what the error
    // contains.
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

function run<Config extends ProgramConfig>({
  name,
  folder,
  loadConfig,
  compose
}: ServiceProgram<Config>): void {
  const config = loadConfig(process.env)
  const logger = createLogger({ service: name, level: config.LOG_LEVEL })
  const version = readVersion(new URL('package.json', folder))
  runProcess({
    logger,
    stopMs: (config.SHUTDOWN_DELAY_SECONDS + config.SHUTDOWN_GRACE_SECONDS) * MS_PER_SECOND,
    start: () => withTelemetry(config, { service: name, version, logger }, () => compose(config, { logger }))
  })
}

async function migrate<Config extends ProgramConfig>({
  name,
  folder
}: ServiceProgram<Config>): Promise<void> {
  const { DATABASE_URL: url, LOG_LEVEL: level } = loadMigrationConfiguration(process.env)
  const logger = createLogger({ service: name, level })
  const { applied } = await migrateDatabase({
    url: url.reveal(),
    migrationsPath: fileURLToPath(new URL('prisma/migrations', folder)),
    log: (line) => {
      logger.info(line)
    }
  })
  logger.info({ applied }, 'the database is up to date')
}
