import { z } from 'zod'
import { type Environment, loadConfiguration } from './load.js'
import { migrationSettings } from './shared-settings.js'

const migrationSchema = z.object(migrationSettings())

/** The settings of a migration. */
export type MigrationConfig = Readonly<z.output<typeof migrationSchema>>

/**
 * Reads the settings of a migration, a few of the service's: a process that may change a schema need not have the service's
 * secrets.
 *
 * @throws ConfigurationError
 */
export function loadMigrationConfiguration(environment: Environment): MigrationConfig {
  return loadConfiguration(migrationSchema, environment)
}
