export {
  ConfigurationError,
  describeSettings,
  type Environment,
  loadConfiguration,
  type SettingDescription
} from './load.js'
export { Secret } from './secret.js'
export * as setting from './settings.js'
export { type SettingMeta } from './settings.js'
