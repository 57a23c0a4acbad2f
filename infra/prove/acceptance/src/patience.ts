import { setTimeout as delay } from 'node:timers/promises'
import type { ConnectedSystem, TestClient } from './connect-system.js'
import type { Settings } from './plan-system.js'

/**
 * Settings of a resource server where many requests race on a busy machine: a slow call of the auth server must not end in a
 * correct but irrelevant 503.
 */
export const PATIENT: Settings = { AUTH_GRPC_DEADLINE_MS: '20000' }

/** Pause before a request is sent again, in milliseconds. */
const AGAIN_AFTER_MS = 100

/**
 * A client that repeats a request as long as the answer tells it to: with far more requests than cores, some get 503, which promises
 * that they had no effect.
 */
export function persistent(client: TestClient): TestClient {
  return {
    ...client,
    async request(...parameters) {
      for (;;) {
        const answer = await client.request(...parameters)
        if (answer.status !== 503) return answer
        await delay(AGAIN_AFTER_MS)
      }
    }
  }
}

/** A system whose clients are all {@link persistent}. */
export function withPersistentClients<System extends ConnectedSystem>(system: System): System {
  return { ...system, shop: persistent(system.shop), market: persistent(system.market) }
}
