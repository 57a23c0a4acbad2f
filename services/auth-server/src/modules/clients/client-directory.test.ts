import { OutgoingRequestError, type OutgoingRequestErrorReason } from '@open-payments-server/http-client'
import { createTestKey, TestClock } from '@open-payments-server/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  type ClientDirectory,
  DirectoryBusy,
  DocumentGone,
  DocumentOfAnother,
  DocumentUnavailable,
  HostUnavailable
} from '../../domain/clients.js'
import { type ClientDirectoryOptions, createClientDirectory } from './client-directory.js'
import { KEYS_MAX } from './documents.js'

const SHOP = 'https://wallet.test/shop'
const OWN = 'https://own.test'
const first = createTestKey('first')
const second = createTestKey('second')

describe('the client directory', () => {
  let clock: TestClock
  let directory: ClientDirectory
  let fetched: string[]
  let warned: unknown[]
  let vouchedFor: string[]
  let answer: () => Promise<{ body: unknown; maxAgeSeconds?: number; headers?: Record<string, string> }>

  beforeEach(() => {
    clock = new TestClock()
    fetched = []
    warned = []
    vouchedFor = []
    answer = async () => ({ body: { keys: [first.jwk] } })
    directory = create({ staleKeysSeconds: 0 })
  })

  const create = (options: Pick<ClientDirectoryOptions, 'staleKeysSeconds'>): ClientDirectory =>
    createClientDirectory({
      clock,
      logger: { warn: (...line: readonly unknown[]) => void warned.push(line) },
      ownOrigins: [OWN],
      lifetimeMaxSeconds: 60,
      patienceMs: 1,
      httpClient: {
        async getJson(url) {
          fetched.push(url)
          const { body, maxAgeSeconds, headers = {} } = await answer()
          return { status: 200, headers, body, maxAgeSeconds }
        },
        vouchFor: (url) => void vouchedFor.push(url)
      },
      ...options
    })

  const fail = (failure: { reason?: OutgoingRequestErrorReason; status?: number } = {}): void => {
    answer = async () => {
      throw new OutgoingRequestError({ reason: 'network', message: 'No connection', ...failure })
    }
  }

  it('keeps keys for as long as it is configured, and then fetches them again', async () => {
    expect((await directory.findKey(SHOP, 'first'))?.x).toBe(first.jwk.x)
    clock.advanceSeconds(59)
    await directory.findKey(SHOP, 'first')
    expect(fetched).toEqual([`${SHOP}/jwks.json`])
    clock.advanceSeconds(1)
    await directory.findKey(SHOP, 'first')
    expect(fetched).toHaveLength(2)
  })

  it('keeps keys no longer than the client allows', async () => {
    answer = async () => ({ body: { keys: [first.jwk] }, maxAgeSeconds: 10 })
    await directory.findKey(SHOP, 'first')
    clock.advanceSeconds(10)
    await directory.findKey(SHOP, 'first')
    expect(fetched).toHaveLength(2)
  })

  it.each([0, 4])('keeps keys for five seconds when the client allows %p', async (maxAgeSeconds) => {
    answer = async () => ({ body: { keys: [first.jwk] }, maxAgeSeconds })
    await directory.findKey(SHOP, 'first')
    clock.advanceSeconds(4)
    await directory.findKey(SHOP, 'first')
    expect(fetched).toHaveLength(1)
    clock.advanceSeconds(1)
    await directory.findKey(SHOP, 'first')
    expect(fetched).toHaveLength(2)
  })

  it('keeps keys no longer than configured, whatever the client allows', async () => {
    answer = async () => ({ body: { keys: [first.jwk] }, maxAgeSeconds: 86_400 })
    await directory.findKey(SHOP, 'first')
    clock.advanceSeconds(60)
    await directory.findKey(SHOP, 'first')
    expect(fetched).toHaveLength(2)
  })

  it('neither keeps keys for longer nor remembers a failure for longer when the clock is set back', async () => {
    const now = clock.now()
    await directory.findKey(SHOP, 'first')
    fail()
    clock.set(now - 900_000)
    await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DocumentUnavailable)
    answer = async () => ({ body: { keys: [second.jwk] } })
    clock.set(now - 1_800_000)
    expect(await directory.findKey(SHOP, 'first')).toBeUndefined()
    expect(fetched).toHaveLength(3)
  })

  it('keeps of a key its texts alone, and of a client twenty keys', async () => {
    const keys = Array.from({ length: KEYS_MAX + 1 }, (_, index) => ({
      ...first.jwk,
      kid: `key-${String(index)}`
    }))
    answer = async () => ({ body: { keys } })
    expect(await directory.findKey(SHOP, 'key-0')).toEqual({ kid: 'key-0', x: first.jwk.x })
    expect(await directory.findKey(SHOP, `key-${String(KEYS_MAX - 1)}`)).toBeDefined()
    expect(await directory.findKey(SHOP, `key-${String(KEYS_MAX)}`)).toBeUndefined()
  })

  it('fetches once for requests that come together', async () => {
    await Promise.all(Array.from({ length: 20 }, () => directory.findKey(SHOP, 'first')))
    expect(fetched).toHaveLength(1)
  })

  it('looks again for a key it does not know, at most once in five seconds', async () => {
    expect(await directory.findKey(SHOP, 'second')).toBeUndefined()
    expect(await directory.findKey(SHOP, 'second')).toBeUndefined()
    expect(fetched).toHaveLength(1)
    answer = async () => ({ body: { keys: [first.jwk, second.jwk] } })
    clock.advanceSeconds(5)
    expect((await directory.findKey(SHOP, 'second'))?.x).toBe(second.jwk.x)
    expect(fetched).toHaveLength(2)
  })

  it('remembers a failure for three seconds, so that a broken host is left alone', async () => {
    fail()
    await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DocumentUnavailable)
    answer = async () => ({ body: { keys: [first.jwk] } })
    await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DocumentUnavailable)
    expect(fetched).toHaveLength(1)
    clock.advanceSeconds(3)
    expect(await directory.findKey(SHOP, 'first')).toBeDefined()
  })

  it.each([
    [
      { reason: 'status', status: 500 },
      { stranger: true, own: true }
    ],
    [
      { reason: 'status', status: 503 },
      { stranger: true, own: true }
    ],
    [
      { reason: 'status', status: 429 },
      { stranger: true, own: true }
    ],
    [{ reason: 'timeout' }, { stranger: false, own: true }],
    [{ reason: 'network' }, { stranger: false, own: true }]
  ] as const)('knows that a host cannot answer now, and who may be told: %j', async (failure, mayBeTold) => {
    fail(failure)
    const told = async (client: string) => {
      const error: unknown = await directory.findKey(client, 'first').catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(HostUnavailable)
      return (error as HostUnavailable).mayBeTold
    }
    expect({ stranger: await told(SHOP), own: await told(`${OWN}/shop`) }).toEqual(mayBeTold)
  })

  it.each([
    { reason: 'status', status: 302 },
    { reason: 'status', status: 403 },
    { reason: 'status', status: 404 },
    { reason: 'content-type', status: 200 },
    { reason: 'malformed' },
    { reason: 'too-large' },
    { reason: 'address' },
    { reason: 'url' }
  ] as const)('knows that there is no such document: %j', async (failure) => {
    fail(failure)
    for (const client of [SHOP, `${OWN}/shop`]) {
      const error: unknown = await directory.findKey(client, 'first').catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(DocumentUnavailable)
      expect(error).not.toBeInstanceOf(HostUnavailable)
    }
  })

  it('keeps good keys when looking for an unknown one fails', async () => {
    await directory.findKey(SHOP, 'first')
    clock.advanceSeconds(5)
    fail()
    await expect(directory.findKey(SHOP, 'second')).rejects.toThrow(DocumentUnavailable)
    expect(await directory.findKey(SHOP, 'first')).toBeDefined()
  })

  it('asks a broken host for an unknown key no more often than for any', async () => {
    await directory.findKey(SHOP, 'first')
    clock.advanceSeconds(5)
    fail()
    for (let count = 0; count < 3; count += 1) {
      await expect(directory.findKey(SHOP, 'second')).rejects.toThrow(DocumentUnavailable)
    }
    expect(fetched).toHaveLength(2)
  })

  it('does not remember that it was too busy to ask', async () => {
    fail({ reason: 'busy' })
    await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DirectoryBusy)
    answer = async () => ({ body: { keys: [first.jwk] } })
    expect(await directory.findKey(SHOP, 'first')).toBeDefined()
  })

  it('skips keys it cannot use, and of two with one identifier takes the first', async () => {
    const rsa = { kid: 'rsa', kty: 'RSA', n: 'AQAB', e: 'AQAB' }
    const twin = { ...second.jwk, kid: 'first' }
    answer = async () => ({ body: { keys: [rsa, null, first.jwk, twin] } })
    expect((await directory.findKey(SHOP, 'first'))?.x).toBe(first.jwk.x)
    expect(await directory.findKey(SHOP, 'rsa')).toBeUndefined()
  })

  it.each([
    ['no JWK Set', { keys: 'none' }],
    ['a text', 'none'],
    ['null', null]
  ])('takes %s for no document', async (_name, body) => {
    answer = async () => ({ body })
    await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DocumentUnavailable)
  })

  describe('keeps good keys for another 300 seconds, where it may, while their host', () => {
    const FRESH_SECONDS = 60
    const STALE_SECONDS = 300

    beforeEach(async () => {
      directory = create({ staleKeysSeconds: STALE_SECONDS })
      await directory.findKey(SHOP, 'first')
    })

    it.each<[string, Parameters<typeof fail>[0]]>([
      ['cannot be reached', {}],
      ['does not answer in time', { reason: 'timeout' }],
      ['answers with an error', { reason: 'status', status: 503 }],
      ['answers something else', { reason: 'content-type', status: 200 }],
      ['is one of too many that are asked', { reason: 'busy' }]
    ])('%s; and not longer', async (_name, failure) => {
      fail(failure)
      clock.advanceSeconds(FRESH_SECONDS + STALE_SECONDS - 1)
      expect(await directory.findKey(SHOP, 'first')).toBeDefined()
      expect(fetched).toHaveLength(2)
      clock.advanceSeconds(3)
      await expect(directory.findKey(SHOP, 'first')).rejects.toThrow()
    })

    it('cannot be reached, and asks it every three seconds until it answers', async () => {
      fail()
      clock.advanceSeconds(FRESH_SECONDS)
      for (let count = 0; count < 5; count += 1) await directory.findKey(SHOP, 'first')
      expect(fetched).toHaveLength(2)
      expect(warned).toHaveLength(1)
      answer = async () => ({ body: { keys: [second.jwk] } })
      clock.advanceSeconds(3)
      expect(await directory.findKey(SHOP, 'first')).toBeUndefined()
      expect(await directory.findKey(SHOP, 'second')).toBeDefined()
      expect(fetched).toHaveLength(3)
    })

    it('hangs, and makes nobody wait for it who can do without', async () => {
      clock.advanceSeconds(FRESH_SECONDS)
      let answerNow: () => void = () => undefined
      answer = () =>
        new Promise((resolve) => {
          answerNow = () => {
            resolve({ body: { keys: [second.jwk] } })
          }
        })
      for (let count = 0; count < 3; count += 1) {
        expect(await directory.findKey(SHOP, 'first')).toBeDefined()
      }
      expect(fetched).toHaveLength(2)
      const awaited = directory.findKey(SHOP, 'second')
      answerNow()
      expect(await awaited).toBeDefined()
      expect(await directory.findKey(SHOP, 'first')).toBeUndefined()
    })

    it.each([404, 410])('does not say %p, which means that there are none', async (status) => {
      fail({ reason: 'status', status })
      clock.advanceSeconds(FRESH_SECONDS)
      await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DocumentGone)
      clock.advanceSeconds(3)
      fail()
      await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DocumentUnavailable)
    })
  })

  describe('of keys that say whose they are', () => {
    const published = (location: string) => {
      answer = async () => ({ body: { keys: [first.jwk] }, headers: { 'content-location': location } })
    }

    it.each([
      'https://wallet.test/mallory/jwks.json',
      'https://other.test/shop/jwks.json',
      'http://wallet.test/shop/jwks.json',
      'https://wallet.test/jwks.json'
    ])('takes none of another address: %s', async (location) => {
      published(location)
      const error: unknown = await directory.findKey(SHOP, 'first').catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(DocumentOfAnother)
      expect(error).toMatchObject({ walletAddress: location.replace('/jwks.json', '') })
    })

    it.each([
      `${SHOP}/jwks.json`,
      'HTTPS://WALLET.test:443/shop//jwks.json',
      // What servers say of a variant, or of where it is kept: nothing about whose keys these are.
      'jwks.json',
      'https://files.test/shop/jwks.json.en',
      'nonsense'
    ])('takes its own, and those that name nobody else: %s', async (location) => {
      published(location)
      expect(await directory.findKey(SHOP, 'first')).toBeDefined()
    })

    it('uses those from before no longer', async () => {
      directory = create({ staleKeysSeconds: 300 })
      await directory.findKey(SHOP, 'first')
      published('https://wallet.test/mallory/jwks.json')
      clock.advanceSeconds(60)
      await expect(directory.findKey(SHOP, 'first')).rejects.toThrow(DocumentOfAnother)
    })
  })

  it('vouches for the host of a client', () => {
    directory.vouchFor(SHOP)
    expect(vouchedFor).toEqual([SHOP])
  })

  it('fetches the asset of a receiver once an hour, whatever its host says: it never changes', async () => {
    const receiver = 'https://wallet.test/incoming-payments/1'
    const receivedAmount = { value: '0', assetCode: 'USD', assetScale: 2 }
    answer = async () => ({ body: { receivedAmount }, maxAgeSeconds: 0 })
    for (let count = 0; count < 3; count += 1) {
      expect(await directory.getReceiverAsset(receiver)).toEqual({ code: 'USD', scale: 2 })
      clock.advanceSeconds(1_199)
    }
    expect(fetched).toEqual([receiver])
    clock.advanceSeconds(3)
    await directory.getReceiverAsset(receiver)
    expect(fetched).toHaveLength(2)
  })

  describe('reading a wallet address', () => {
    const document = {
      id: SHOP,
      publicName: 'The shop',
      assetCode: 'USD',
      assetScale: 2,
      authServer: 'https://a.test'
    }

    it('takes what grants depend on', async () => {
      answer = async () => ({ body: { ...document, resourceServer: 'https://b.test', more: 1 } })
      expect(await directory.getWalletAddress(SHOP)).toEqual({
        id: SHOP,
        publicName: 'The shop',
        assetCode: 'USD',
        assetScale: 2,
        authServer: 'https://a.test'
      })
      expect(fetched).toEqual([SHOP])
    })

    it('drops from a name what could mislead or cannot be stored', async () => {
      answer = async () => ({ body: { ...document, publicName: ' Shop\u0000\n\u202e ' } })
      expect((await directory.getWalletAddress(SHOP)).publicName).toBe('Shop')
    })

    it('shows the beginning of a long name, and no half of a character', async () => {
      answer = async () => ({ body: { ...document, publicName: `a${'\u{1f6d2}'.repeat(10_000)}` } })
      expect((await directory.getWalletAddress(SHOP)).publicName).toBe(`a${'\u{1f6d2}'.repeat(127)}`)
    })

    it.each([{ assetScale: '2' }, { assetCode: undefined }, { authServer: 5 }, { publicName: 5 }])(
      'refuses one with %j',
      async (changed) => {
        answer = async () => ({ body: { ...document, ...changed } })
        await expect(directory.getWalletAddress(SHOP)).rejects.toThrow(DocumentUnavailable)
      }
    )
  })
})
