import type { Route } from '@open-payments-server/http-server'
import type { Readiness } from './readiness.js'

/** Tells operators that the process is alive. */
export const HEALTH_PATH = '/healthz'

/** Tells operators whether requests should be sent to it. */
const READINESS_PATH = '/readyz'

/** `GET /healthz` checks only the process. `GET /readyz` answers 200 or 503 with the {@link Readiness} report. */
export function createHealthRoutes(readiness: Readiness): readonly Route[] {
  return [
    {
      method: 'GET',
      path: HEALTH_PATH,
      handle: (_request, response) => {
        response.addField('Cache-Control', 'no-store')
        response.sendJson(200, { status: 'ok' })
      }
    },
    {
      method: 'GET',
      path: READINESS_PATH,
      handle: async (_request, response) => {
        const report = await readiness.report()
        response.addField('Cache-Control', 'no-store')
        response.sendJson(report.status === 'ready' ? 200 : 503, report)
      }
    }
  ]
}
