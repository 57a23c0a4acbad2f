import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createPostClient,
  type Lookup,
  LOOPBACK_NETWORKS,
  parseNetworks,
  type PostClientOptions
} from '../src/index.js'

let server: Server
let port: number
let posts: number

beforeEach(async () => {
  posts = 0
  server = createServer((request, response) => {
    posts += 1
    request.resume()
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ;({ port } = server.address() as AddressInfo)
})
afterEach(() => new Promise((resolve) => server.close(resolve)))

const OPTIONS: PostClientOptions = {
  privateNetworks: [],
  timeoutMs: 2_000,
  userAgent: 'test',
  connectionsMax: 2
}
const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{}' }
const at =
  (...addresses: string[]): Lookup =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))

async function resultOf(url: string, options: Partial<PostClientOptions>): Promise<unknown> {
  const client = createPostClient({ ...OPTIONS, ...options })
  try {
    return await client.post(url, MESSAGE).then(
      ({ status }) => status,
      (error: unknown) => (error as { reason: unknown }).reason
    )
  } finally {
    await client.close()
  }
}

describe('a message', () => {
  it('is posted to an address of an allowed network without TLS', async () => {
    expect(await resultOf(`http://127.0.0.1:${String(port)}/`, { privateNetworks: LOOPBACK_NETWORKS })).toBe(
      204
    )
    const options = { privateNetworks: parseNetworks(['127.0.0.0/30']), lookup: at('127.0.0.1') }
    expect(await resultOf(`http://hooks.test:${String(port)}/`, options)).toBe(204)
    expect(posts).toBe(2)
  })

  it.each([
    ['an address of a network that is not allowed', ['10.0.0.0/8'], '127.0.0.1'],
    ['an address beside the allowed one', ['127.0.0.2'], '127.0.0.1'],
    ['an IPv4 address that is mapped into IPv6', ['10.0.0.0/8'], '::ffff:127.0.0.1'],
    ['the unspecified address', ['10.0.0.0/8'], '0.0.0.0']
  ])('is not posted to a name that resolves to %s when it connects', async (_what, networks, address) => {
    const options = { privateNetworks: parseNetworks(networks), lookup: at(address) }
    expect(await resultOf(`http://hooks.test:${String(port)}/`, options)).toBe('address')
    expect(await resultOf(`https://hooks.test:${String(port)}/`, options)).toBe('address')
    expect(posts).toBe(0)
  })

  it('is not posted to a name of which one address is allowed, and another is not', async () => {
    const options = { privateNetworks: LOOPBACK_NETWORKS, lookup: at('127.0.0.1', '10.0.0.1') }
    expect(await resultOf(`http://hooks.test:${String(port)}/`, options)).toBe('address')
    expect(posts).toBe(0)
  })

  it('is not posted to the internet without TLS', async () => {
    expect(await resultOf('http://hooks.test/', { lookup: at('93.184.216.34') })).toBe('address')
    expect(await resultOf('http://93.184.216.34/', {})).toBe('url')
  })
})

describe('the check of a URL', () => {
  const check = async (url: string, options: Partial<PostClientOptions>): Promise<unknown> => {
    const client = createPostClient({ ...OPTIONS, ...options })
    try {
      return await client.check(url).then(
        () => 'allowed',
        (error: unknown) => (error as { reason: unknown }).reason
      )
    } finally {
      await client.close()
    }
  }

  it('refuses a name that resolves to a private address', async () => {
    expect(await check('https://hooks.test/', { lookup: at('10.0.0.1') })).toBe('address')
    expect(await check('http://hooks.test/', { lookup: at('93.184.216.34') })).toBe('url')
    expect(await check('https://hooks.test/', { lookup: at('93.184.216.34') })).toBe('allowed')
  })

  it('allows a name that cannot be resolved now', async () => {
    expect(
      await check('https://hooks.test/', { lookup: () => Promise.reject(new Error('no such name')) })
    ).toBe('allowed')
    const silent: Lookup = (_name, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('cancelled'))
        })
      })
    expect(await check('https://hooks.test/', { lookup: silent, timeoutMs: 100 })).toBe('allowed')
  })
})
