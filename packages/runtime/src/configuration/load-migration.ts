import { z } from 'zod'
import { type Environment, loadConfiguration } from './load.js'
import { migrationSettings } from './shared-settings.js'

const migrationSchema = z.object(migrationSettings())

/** The settings that a migration goes by. */
export type MigrationConfig = Readonly<z.output<typeof migrationSchema>>

/**
 * Reads the settings of a migration, which are few of the service's: whoever may change a schema need not have its secrets.
 *
 * @throws ConfigurationError
 */
export function loadMigrationConfiguration(environment: Environment): MigrationConfig {
  return loadConfiguration(migrationSchema, environment)
}
