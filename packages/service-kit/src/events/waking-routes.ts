/** A route of any kind of app. */
interface AnyRoute {
  readonly method: string
  readonly handle: (...parameters: never[]) => unknown
}

/** Methods that change nothing (RFC 9110 §9.2.1). */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * The same routes, each of which wakes whoever publishes events once it has answered a request that may have changed something.
 *
 * @param wake cheap: called also for requests that were refused
 */
export function wakeAfter<Route extends AnyRoute>(routes: readonly Route[], wake: () => void): Route[] {
  return routes.map((route) => {
    if (SAFE_METHODS.has(route.method)) return route
    const handle = async (...parameters: never[]): Promise<void> => {
      try {
        await route.handle(...parameters)
      } finally {
        wake()
      }
    }
    return { ...route, handle }
  })
}
