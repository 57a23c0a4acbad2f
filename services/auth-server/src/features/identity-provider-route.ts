import type { RequestHandler } from 'express'

/** A route for identity providers. Like the `Route` of the other listeners, but answered by express. */
export interface IdentityProviderRoute {
  readonly method: 'GET' | 'POST'
  /** Path, of an interaction or below it. */
  readonly path: `/grant/:id/:nonce${string}`
  readonly handle: RequestHandler<{ id: string; nonce: string }>
}
