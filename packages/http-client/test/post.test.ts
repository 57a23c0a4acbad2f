import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createPostClient,
  type Lookup,
  LOOPBACK_NETWORKS,
  parseNetworks,
  type PostClient,
  type PostClientOptions
} from '../src/index.js'

let server: Server
let port: number
let posts: number
let answer: (request: IncomingMessage, response: ServerResponse) => unknown

beforeEach(async () => {
  posts = 0
  answer = (request, response) => {
    request.resume()
    response.writeHead(204).end()
  }
  server = createServer((request, response) => {
    posts += 1
    void answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ;({ port } = server.address() as AddressInfo)
})
afterEach(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})

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

describe('an exchange', () => {
  const PACKET = Buffer.from([0x0c, 0x82, 0x00, 0xff])
  const MESSAGE = {
    headers: { 'content-type': 'application/octet-stream' },
    body: PACKET,
    bodyBytesMax: 1_000
  }
  const LOOPBACK = { privateNetworks: LOOPBACK_NETWORKS }

  async function exchange(
    options: Partial<PostClientOptions> = {},
    message: Partial<Parameters<PostClient['exchange']>[1]> = {}
  ): Promise<unknown> {
    const client = createPostClient({ ...OPTIONS, ...LOOPBACK, ...options })
    try {
      return await client
        .exchange(`http://127.0.0.1:${String(port)}/ilp`, { ...MESSAGE, ...message })
        .catch((error: unknown) => error)
    } finally {
      await client.close()
    }
  }

  it('posts bytes, and reads those of the answer, whatever its status', async () => {
    answer = async (request, response) => {
      const { method, url, headers } = request
      const chunks = await request.toArray()
      const seen = [method, url, headers['content-type'], headers['accept-encoding']]
      expect(seen).toEqual(['POST', '/ilp', 'application/octet-stream', 'identity'])
      expect(Buffer.concat(chunks as Buffer[])).toEqual(PACKET)
      const status = posts === 1 ? 200 : 401
      response.writeHead(status, { 'content-type': 'application/octet-stream' }).end(Buffer.from([13, 0]))
    }
    const answered = { contentType: 'application/octet-stream', body: Buffer.from([13, 0]) }
    expect(await exchange()).toEqual({ status: 200, ...answered })
    expect(await exchange()).toEqual({ status: 401, ...answered })
  })

  it('may be answered with nothing', async () => {
    expect(await exchange()).toEqual({ status: 204, contentType: undefined, body: Buffer.alloc(0) })
  })

  it('follows no redirect', async () => {
    answer = (_, response) => response.writeHead(307, { location: '/other' }).end()
    expect(await exchange()).toMatchObject({ status: 307 })
    expect(posts).toBe(1)
  })

  it('reads no more than it is told to, announced or not', async () => {
    answer = (_, response) => response.end(Buffer.alloc(1_000))
    expect(await exchange()).toMatchObject({ status: 200 })
    const tooLarge = { reason: 'too-large', status: 200, isUnsent: false }
    expect(await exchange({}, { bodyBytesMax: 999 })).toMatchObject(tooLarge)
    answer = (_, response) => {
      response.write(Buffer.alloc(600))
      response.end(Buffer.alloc(401))
    }
    expect(await exchange()).toMatchObject(tooLarge)
  })

  it('refuses a compressed answer', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
    expect(await exchange()).toMatchObject({ reason: 'content-type', status: 200, isUnsent: false })
  })

  it('ends with its time, also while the body comes, and with its caller', async () => {
    answer = (_, response) => {
      response.writeHead(200)
      response.write('x')
    }
    expect(await exchange()).toMatchObject({ reason: 'timeout', isUnsent: false })
    const reason = new Error('no longer wanted')
    const abort = new AbortController()
    answer = () => {
      abort.abort(reason)
    }
    expect(await exchange({}, { signal: abort.signal })).toBe(reason)
  })

  it('may take longer to be answered than to leave', async () => {
    // Either limit begins before the server is reached, and so is over before it answers, however busy the machine is.
    const departureMs = 2_000
    answer = (_, response) => setTimeout(() => response.writeHead(204).end(), departureMs + 500)
    expect(await exchange({ timeoutMs: 30_000, departureMs })).toMatchObject({ status: 204 })
    expect(await exchange({ timeoutMs: departureMs })).toMatchObject({ reason: 'timeout', isUnsent: false })
  })

  it('tells that nothing was sent if it has not left in time', async () => {
    const client = createPostClient({
      ...OPTIONS,
      ...LOOPBACK,
      timeoutMs: 30_000,
      departureMs: 200,
      lookup: () => new Promise(() => undefined)
    })
    try {
      await expect(client.exchange('http://silent.example/ilp', MESSAGE)).rejects.toMatchObject({
        reason: 'timeout',
        isUnsent: true
      })
    } finally {
      await client.close()
    }
  })

  it('tells that nothing was sent where nobody listens, and where nobody may be asked', async () => {
    await new Promise((resolve) => server.close(resolve))
    expect(await exchange()).toMatchObject({ reason: 'network', isUnsent: true })
    expect(await exchange({ privateNetworks: [] })).toMatchObject({ reason: 'address', isUnsent: true })
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
