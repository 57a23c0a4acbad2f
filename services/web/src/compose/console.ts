import type { ClientObserver } from '@open-payments-server/grpc-transport'
import type { Route } from '@open-payments-server/http-server'
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
 * @param observer observes these calls; nobody does unless given
 */
export function createConsoleRoutes(
  context: Context,
  { logo, targets }: Resources,
  site: Site,
  observer: ClientObserver | undefined
): Route[] {
  const { lifecycle, logger } = context
  const connection = connectOperated(targets)
  if (observer !== undefined) connection.observe(observer)
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
    ...signInRoutes({ site, finish: undefined, logger })
  ]
}
