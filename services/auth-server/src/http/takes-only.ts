import { methodNotAllowed } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'

/** Refuses, with 405, what none of the routes before has taken of a path. Express would answer 404, and OPTIONS in its own form. */
export function takesOnly(...methods: readonly string[]): RequestHandler {
  return () => {
    throw methodNotAllowed(methods, 'invalid_request')
  }
}
