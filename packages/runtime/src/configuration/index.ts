export { splitDatabaseUrl } from './database-url.js'
export { redisPlaceOf, type RedisSettings } from './redis-settings.js'
export { splitRedisUrl } from './redis-url.js'
export {
  ConfigurationError,
  describeSettings,
  type Environment,
  loadConfiguration,
  type SettingDescription
} from './load.js'
export { Secret } from './secret.js'
export { grpcClientSettings, grpcClientTls, type GrpcClientTexts } from './grpc-client-settings.js'
export { loadMigrationConfiguration } from './load-migration.js'
export * as setting from './settings.js'
export { parsePairs } from './settings.js'
export {
  databaseSettings,
  GRPC_LISTENER_TLS,
  grpcClientsSetting,
  grpcListenerSettings,
  metricsSettings,
  operatorAmountSettings,
  operatorSettings,
  processSettings,
  publicListenerSettings,
  eventSettings,
  purgeSettings,
  rateLimitSettings,
  sharedStoreSettings,
  shutdownSettings,
  signatureSettings,
  webhookSettings
} from './shared-settings.js'
export { findPlaintext, findUnsafeGrpcListener } from './unsafe-grpc.js'
export { findUnsafeSettings } from './unsafe-settings.js'
export { findWeakSecrets } from './weak-secrets.js'
export { telemetrySettings } from './telemetry-settings.js'
