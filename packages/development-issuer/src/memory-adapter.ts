import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

interface Kept {
  readonly payload: AdapterPayload
  readonly expiresAtMs: number
}

/** Keeps sessions, codes and tokens of one issuer in this process, until they expire. */
export function createMemoryAdapter(): AdapterFactory {
  const kept = new Map<string, Kept>()
  return (model) => adapterOf(kept, model)
}

function adapterOf(kept: Map<string, Kept>, model: string): Adapter {
  const keyOf = (id: string): string => `${model}:${id}`
  const find = (matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined => {
    for (const [key, { payload }] of kept) if (key.startsWith(`${model}:`) && matches(payload)) return payload
    return undefined
  }
  // Interface of the library: each answers with a promise.
  return {
    upsert: (id, payload, expiresInSeconds) => {
      purge(kept)
      const lifetimeMs = expiresInSeconds === undefined ? Infinity : expiresInSeconds * 1_000
      kept.set(keyOf(id), { payload, expiresAtMs: Date.now() + lifetimeMs })
      return Promise.resolve()
    },
    find: (id) => {
      purge(kept)
      return Promise.resolve(kept.get(keyOf(id))?.payload)
    },
    findByUid: (uid) => {
      purge(kept)
      return Promise.resolve(find((payload) => payload.uid === uid))
    },
    findByUserCode: (userCode) => Promise.resolve(find((payload) => payload.userCode === userCode)),
    consume: (id) => {
      const known = kept.get(keyOf(id))
      if (known !== undefined) known.payload.consumed = Math.floor(Date.now() / 1_000)
      return Promise.resolve()
    },
    destroy: (id) => {
      kept.delete(keyOf(id))
      return Promise.resolve()
    },
    revokeByGrantId: (grantId) => {
      // Of this model alone: a sign-in that is under way names a grant, too, and outlives it.
      for (const [key, { payload }] of kept)
        if (key.startsWith(`${model}:`) && payload.grantId === grantId) kept.delete(key)
      return Promise.resolve()
    }
  }
}

/** There are few, so all are looked at. */
function purge(kept: Map<string, Kept>): void {
  const nowMs = Date.now()
  for (const [key, { expiresAtMs }] of kept) if (expiresAtMs <= nowMs) kept.delete(key)
}
