export { findFreePort, findFreePorts } from './free-port.js'
export { type LocalPgBouncer, startPgBouncer } from './pgbouncer.js'
export { startPostgres, type LocalPostgres, type PostgresOptions } from './postgres.js'
export { startRedis, type LocalRedis, type RedisOptions } from './redis.js'
