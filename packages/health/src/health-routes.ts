import { Router } from 'express'
import type { Readiness } from './readiness.js'

/** Tells whoever runs the service that the process lives. */
export const HEALTH_PATH = '/healthz'

/** Tells whoever runs the service whether requests should be sent to it. */
const READINESS_PATH = '/readyz'

/** `GET /healthz` looks at nothing but the process. `GET /readyz` answers 200 or 503 with the {@link Readiness} report. */
export function createHealthRoutes(readiness: Readiness): Router {
  const routes = Router({ caseSensitive: true })
  routes.get(HEALTH_PATH, (_request, response) => {
    response.set('Cache-Control', 'no-store').json({ status: 'ok' })
  })
  routes.get(READINESS_PATH, async (_request, response) => {
    const report = await readiness.report()
    response
      .set('Cache-Control', 'no-store')
      .status(report.status === 'ready' ? 200 : 503)
      .json(report)
  })
  return routes
}
