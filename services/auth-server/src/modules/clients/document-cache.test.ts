import { createTestKey, TestClock } from '@open-payments-server/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { measureKeys } from './client-directory.js'
import { DocumentCache } from './document-cache.js'
import { type ClientKeys, KEYS_MAX, readKeys } from './documents.js'

const CHARACTERS_MAX = 100_000
const LIFETIME_SECONDS = 60
const URL_OF = (client: number): string => `https://strangers-${String(client)}.example/jwks.json`

describe('the documents that are kept', () => {
  let fetched: number
  let fetch: () => Promise<{ document: ClientKeys; maxAgeSeconds: undefined }>
  let cache: DocumentCache<ClientKeys>

  beforeEach(() => {
    fetched = 0
    const { jwk } = createTestKey('key')
    const kidOf = (index: number): string => String(index).padStart(200, '0')
    const keys = Array.from({ length: KEYS_MAX }, (_, index) => ({ ...jwk, kid: kidOf(index) }))
    const document = readKeys({ keys })
    if (document === undefined) throw new Error('The keys cannot be read')
    fetch = async () => ({ document, maxAgeSeconds: undefined })
    cache = new DocumentCache<ClientKeys>({
      clock: new TestClock(),
      entriesMax: 10_000,
      charactersMax: CHARACTERS_MAX,
      measure: measureKeys,
      lifetimeMinSeconds: 0,
      lifetimeMaxSeconds: LIFETIME_SECONDS,
      staleSeconds: 0,
      failureLifetimeSeconds: 3,
      patienceMs: 1,
      fetch: () => {
        fetched += 1
        return fetch()
      },
      onStale: () => undefined
    })
  })

  it('never hold more text than they may, however many clients publish as much as is read', async () => {
    for (let client = 0; client < 500; client += 1) await cache.get(URL_OF(client))
    const { entries, characters } = cache.size
    expect(characters).toBeLessThanOrEqual(CHARACTERS_MAX)
    const { document } = await cache.get(URL_OF(499))
    expect(fetched).toBe(500)
    const texts = [...document.values()].reduce((sum, { kid, x }) => sum + kid.length + x.length, 0)
    expect(texts).toBe(KEYS_MAX * 243)
    expect(entries * texts).toBeLessThan(CHARACTERS_MAX)
  })

  it('never hold more failures than they may', async () => {
    fetch = () => Promise.reject(new Error('no answer'))
    for (let client = 0; client < 500; client += 1) {
      await expect(cache.get(URL_OF(client))).rejects.toThrow('no answer')
    }
    expect(cache.size.characters).toBeLessThanOrEqual(CHARACTERS_MAX)
    expect(cache.size.entries).toBeLessThan(50)
  })
})
