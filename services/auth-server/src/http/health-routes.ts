import type { Logger } from '@open-payments-server/runtime'
import { Router } from 'express'

/**
 * Health of the process, for whoever runs it: `/healthz` says that it lives, `/readyz` whether it should be sent requests
 * now.
 *
 * @param checkReady resolves when what the service needs answers; rejects when it does not
 */
export function healthRoutes(checkReady: () => Promise<void>, logger: Logger): Router {
  const router = Router({ caseSensitive: true })
  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' })
  })
  router.get('/readyz', async (_request, response) => {
    try {
      await checkReady()
      response.json({ status: 'ok' })
    } catch (error) {
      logger.warn({ err: error }, 'not ready')
      response.status(503).json({ status: 'unavailable' })
    }
  })
  return router
}
