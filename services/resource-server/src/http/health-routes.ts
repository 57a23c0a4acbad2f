import { type Logger, within } from '@open-payments-server/runtime'
import { Router } from 'express'

/** Tells whoever runs the service that the process lives. */
export const HEALTH_PATH = '/healthz'

/** Longest that one dependency is waited for, in milliseconds. */
const CHECK_TIMEOUT_MS = 1_000

/** Something that the service cannot work without. */
export interface Dependency {
  readonly name: string
  /** Rejects when it does not answer. */
  readonly check: () => Promise<unknown>
}

/**
 * `GET /healthz` says that the process runs, and looks at nothing else. `GET /readyz` says whether it can do its work: 503
 * names the dependencies that do not answer.
 */
export function createHealthRoutes(deps: {
  dependencies: readonly Dependency[]
  isStopping: () => boolean
  logger: Logger
}): Router {
  const routes = Router()
  routes.get(HEALTH_PATH, (_request, response) => {
    response.json({ status: 'ok' })
  })
  routes.get('/readyz', async (_request, response) => {
    const results = await Promise.all(deps.dependencies.map((dependency) => answers(dependency, deps.logger)))
    const unavailable = deps.dependencies
      .filter((_, index) => results[index] !== true)
      .map(({ name }) => name)
    const ready = unavailable.length === 0 && !deps.isStopping()
    response.set('Cache-Control', 'no-store')
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', unavailable })
  })
  return routes
}

async function answers({ name, check }: Dependency, logger: Logger): Promise<boolean> {
  try {
    await within(CHECK_TIMEOUT_MS, name, check())
    return true
  } catch (error) {
    logger.warn({ dependency: name, err: error }, 'dependency does not answer')
    return false
  }
}
