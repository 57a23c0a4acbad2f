export { databaseDependency } from './database-dependency.js'
export { createHealthRoutes, HEALTH_PATH } from './health-routes.js'
export { type Dependency, Readiness } from './readiness.js'
