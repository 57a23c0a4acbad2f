export { databaseDependency } from './database-dependency.js'
export { createHealthRoutes, HEALTH_PATH } from './health-routes.js'
export { type Dependency, type DependencyReport, Readiness, type ReadinessReport } from './readiness.js'
