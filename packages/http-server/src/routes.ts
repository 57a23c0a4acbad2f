import createRouter from 'find-my-way'
import type { HttpRequest, RouteParams } from './http-request.js'
import type { HttpResponse } from './http-response.js'
import { TARGET_LENGTH_MAX } from './limits.js'

/** Methods of routes. A route for GET also takes HEAD. */
export type RouteMethod = 'GET' | 'POST' | 'DELETE' | 'OPTIONS'

/**
 * Answers a request. Anything it throws, or rejects with, is rendered as an error.
 *
 * @returns nothing when it has already answered
 */
export type RouteHandler = (request: HttpRequest, response: HttpResponse) => void | Promise<void>

/** A route. */
export interface Route {
  readonly method: RouteMethod
  /** Path, such as `/quotes/:id`; or an expression that is tried on the path as sent when no path matches. */
  readonly path: string | RegExp
  /** Its name in logs, metrics and traces; default: the path. */
  readonly name?: string
  /** Whether its requests may store new rows, and so count for the budgets of rows; default: those of `POST` do. */
  readonly storesRows?: boolean
  readonly handle: RouteHandler
}

/** The route that takes a request. */
export interface FoundRoute {
  readonly route: Route
  /** The parameters of its path, decoded. */
  readonly params: RouteParams
}

/** No route takes the method of a request, but some take others. */
export interface MethodNotAllowed {
  /** The methods of its path, for `Allow`. */
  readonly allow: readonly string[]
}

const METHODS: readonly RouteMethod[] = ['GET', 'POST', 'DELETE', 'OPTIONS']
const NO_PARAMS = {}

/** Finds the route of a request. A trailing slash in a path is ignored. */
export class RouteTable {
  readonly #byPath = createRouter({ ignoreTrailingSlash: true, maxParamLength: TARGET_LENGTH_MAX })
  readonly #byExpression: readonly (Route & { readonly path: RegExp })[]

  /** @param routes those with expressions in the order in which they are tried */
  constructor(routes: readonly Route[]) {
    this.#byExpression = routes.filter(hasExpression)
    for (const route of routes) {
      const { method, path } = route
      // Never called: callers ask for a route and call it themselves.
      if (typeof path === 'string') this.#byPath.on(method, path, () => undefined, route)
    }
  }

  /** @returns undefined when no route takes the path, whatever the method */
  find(requestMethod: string, path: string): FoundRoute | MethodNotAllowed | undefined {
    const method = requestMethod === 'HEAD' ? 'GET' : requestMethod
    const found = this.#findByPath(method, path)
    if (found !== undefined) return found
    // A literal path is not matched by an expression, even if it takes another method.
    const taken = METHODS.filter((one) => this.#findByPath(one, path) !== undefined)
    if (taken.length > 0) return { allow: withHead(taken) }
    const fitting = this.#byExpression.filter((one) => one.path.test(path))
    const route = fitting.find((one) => one.method === method)
    if (route !== undefined) return { route, params: NO_PARAMS }
    return fitting.length === 0 ? undefined : { allow: withHead(fitting.map((one) => one.method)) }
  }

  #findByPath(method: string, path: string): FoundRoute | undefined {
    const found = this.#byPath.find(method as RouteMethod, path)
    if (found === null) return undefined
    const route = found.store as Route
    return isAsSent(String(route.path), path) ? { route, params: found.params } : undefined
  }
}

function withHead(methods: readonly RouteMethod[]): readonly string[] {
  return [...new Set(methods)].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

/**
 * The router decodes a path before comparing. But a path that is spelled differently is a different one, for signatures and
 * limits.
 */
function isAsSent(pattern: string, path: string): boolean {
  if (!path.includes('%')) return true
  const sent = path.split('/')
  return pattern.split('/').every((part, index) => part.startsWith(':') || part === sent[index])
}

function hasExpression(route: Route): route is Route & { readonly path: RegExp } {
  return route.path instanceof RegExp
}
