import { openTls } from '@open-payments-server/grpc-transport'
import type { Route } from '@open-payments-server/http-server'
import { AUTH_GRPC_TLS, RESOURCE_GRPC_TLS } from '../config.js'
import { consoleRoutes } from '../features/console/routes.js'
import { signInRoutes } from '../features/sign-in/routes.js'
import type { Site } from '../features/site.js'
import { connectOperated } from '../grpc/operated.js'
import { assetRoutes } from '../http/assets.js'
import { consoleStyle } from '../pages/console/style.js'
import { styleOf } from '../pages/style.js'
import type { Context } from './context.js'
import type { Resources } from './resources.js'

/**
 * The pages of operators. Their calls have connections of their own: what account holders ask does not wait for them.
 *
 * @throws ConfigurationError for files that cannot be used
 */
export async function createConsoleRoutes(
  context: Context,
  { logo }: Resources,
  site: Site
): Promise<Route[]> {
  const { config, lifecycle, logger } = context
  const connection = connectOperated({
    'auth-server': {
      target: config.AUTH_GRPC_TARGET,
      deadlineMs: config.AUTH_GRPC_DEADLINE_MS,
      tls: await openTls(AUTH_GRPC_TLS, context),
      serverName: config.AUTH_GRPC_TLS_SERVER_NAME
    },
    'resource-server': {
      target: config.RESOURCE_GRPC_TARGET,
      deadlineMs: config.RESOURCE_GRPC_DEADLINE_MS,
      tls: await openTls(RESOURCE_GRPC_TLS, context),
      serverName: config.RESOURCE_GRPC_TLS_SERVER_NAME
    }
  })
  lifecycle.add({
    name: 'connections of the console',
    stop: () => {
      connection.close()
      return Promise.resolve()
    }
  })
  return [
    ...assetRoutes(`${styleOf(site.brand)}${consoleStyle}`, logo),
    ...consoleRoutes({ site, logger, operateAs: (idToken) => connection.operateAs(idToken) }),
    ...signInRoutes(site, undefined)
  ]
}
