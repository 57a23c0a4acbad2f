import { sendResource } from '@open-payments-server/http-server'
import type { Ed25519Jwk } from '@open-payments-server/http-signatures'
import { Router } from 'express'
import type { Pool } from 'pg'
import { notFound } from '../../domain/errors.js'
import { findPathProblem, PATHLESS_WALLET_ADDRESS } from '../../domain/wallet-address.js'
import { createClientKeyReader } from './repository.js'

/** What the route needs. */
export interface WalletAddressKeysRouteDeps {
  readonly pool: Pool
  /** How long others may keep the answer, in seconds. */
  readonly cacheSeconds: number
}

/** Name of the document, below the wallet address. */
const DOCUMENT = '/jwks.json'

/** `GET /<path>/jwks.json`: the keys that the holder of a wallet address signs with, without the revoked ones; for anyone. */
export function createWalletAddressKeysRoutes(deps: WalletAddressKeysRouteDeps): Router {
  const router = Router({ caseSensitive: true, strict: true })
  const reader = createClientKeyReader(deps.pool)
  router.get(/\/jwks\.json$/, async (request, response) => {
    const path = request.path.slice(0, -DOCUMENT.length) || PATHLESS_WALLET_ADDRESS
    const keys = findPathProblem(path) === undefined ? await reader.findKeys(path) : undefined
    if (keys === undefined) throw notFound()
    sendResource(
      request,
      response,
      { keys: keys.map(toJwk) },
      { cacheControl: `public, max-age=${String(deps.cacheSeconds)}` }
    )
  })
  return router
}

function toJwk({ kid, x }: { kid: string; x: string }): Ed25519Jwk {
  return { kid, alg: 'EdDSA', use: 'sig', kty: 'OKP', crv: 'Ed25519', x }
}
