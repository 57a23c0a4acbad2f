import { EventEmitter } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createSafeHttpClient, type Lookup, type SafeHttpClientOptions } from '../src/index.js'

const OPTIONS = {
  allowPrivateNetworks: false,
  timeoutMs: 5_000,
  bodyBytesMax: 10_000,
  userAgent: 'test'
}

/** Every attempt to connect anywhere; none leaves the process. */
const connect = jest.spyOn(Socket.prototype, 'connect')

beforeEach(() => {
  connect.mockImplementation(function (this: Socket) {
    setImmediate(() => this.destroy(new Error('nothing leaves this test')))
    return this
  })
})

afterEach(() => {
  connect.mockReset()
})

/**
 * Whether a port is one that these tests name. Tests that ran before in the same process may still be closing connections to
 * free ports of the loopback, which are all higher.
 */
function isOurs(port: unknown): boolean {
  return Number(port) < 10_000
}

/** How often something here asked for a connection. Node passes the options alone, or first in a list. */
function connectionsMade(): number {
  const ports = connect.mock.calls.map(
    ([first]) => ([first].flat()[0] as { port?: unknown } | undefined)?.port
  )
  return ports.filter(isOurs).length
}

/** Fetches with a client of its own; resolves to why that failed. */
async function reasonFor(url: string, options: Partial<SafeHttpClientOptions> = {}): Promise<unknown> {
  const client = createSafeHttpClient({
    ...OPTIONS,
    lookup: () => Promise.reject(new Error('unexpected look-up')),
    ...options
  })
  try {
    return await client.getJson(url).then(
      () => 'no error',
      (error: unknown) => (error as { reason: unknown }).reason
    )
  } finally {
    await client.close()
  }
}

describe('a URL', () => {
  it.each([
    ['without a scheme', 'wallet.example/alice'],
    ['empty', ''],
    ['in plain HTTP', 'http://wallet.example/alice'],
    ['of a file', 'file:///etc/passwd'],
    ['of data', 'data:application/json,{}'],
    ['with a user', 'https://alice@wallet.example/'],
    ['with a password', 'https://:secret@wallet.example/'],
    ['with a fragment', 'https://wallet.example/#keys'],
    ['with an empty fragment', 'https://wallet.example/#'],
    ['with another port', 'https://wallet.example:8443/'],
    ['with the port of plain HTTP', 'https://wallet.example:80/'],
    ['without a host', 'https:///'],
    ['with a zone in its address', 'https://[fe80::1%25eth0]/'],
    ['with a bare zone in its address', 'https://[fe80::1%eth0]/'],
    ['with a number that is no address', 'https://4294967296/'],
    ['with too many numbers for an address', 'https://1.2.3.4.5/'],
    ['with a port of its own behind an address', 'https://[2606:4700:4700::1111]:8443/'],
    ['with a user that looks like its host', 'https://wallet.example@evil.example/'],
    ['with a space in its host', 'https://wallet .example/'],
    ['with an escaped slash in its host', 'https://wallet.example%2f.evil.example/'],
    ['too long', `https://wallet.example/${'a'.repeat(2_048)}`]
  ])('is refused %s, and nothing is looked up or connected to', async (_, url) => {
    const lookup = jest.fn<Lookup>()
    expect(await reasonFor(url, { lookup })).toBe('url')
    expect(lookup).not.toHaveBeenCalled()
    expect(connectionsMade()).toBe(0)
  })
})

describe('a host that is an address', () => {
  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://2130706433/',
    'https://%31%32%37.0.0.1/',
    'https://①②⑦.0.0.1/',
    'https://127.0.0.1./',
    'https://0x7f.1/',
    'https://0x7F.0X0.0x0.0x1/',
    'https://017700000001/',
    'https://3232235777/',
    'https://１２７.０.０.１/',
    'https://127。0。0。1/',
    'https://255.255.255.255/',
    'https://224.0.0.1/',
    'https://100.64.0.1/',
    'https://[::]/',
    'https://[0:0:0:0:0:ffff:0a00:0001]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b:1::1]/',
    'https://[2001:0:53aa:64c::1]/',
    'https://[ff02::1]/',
    'https://0/',
    'https://10.0.0.1:443/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/'
  ])('off the public internet is not connected to: %s', async (url) => {
    expect(await reasonFor(url)).toBe('address')
    expect(connectionsMade()).toBe(0)
  })

  it('on the public internet is connected to', async () => {
    expect(await reasonFor('https://93.184.216.34/')).toBe('network')
    expect(connectionsMade()).toBe(1)
  })
})

describe('a host that resolves', () => {
  // The lookup happens inside the real connect, which reports every address before trying it.
  let attempts: string[] = []
  const emit = jest.spyOn(Socket.prototype, 'emit')
  const realEmit = EventEmitter.prototype.emit

  beforeEach(() => {
    connect.mockRestore()
    attempts = []
    emit.mockImplementation(function (this: Socket, event: string | symbol, ...values: unknown[]) {
      const [address, port] = values
      if (event === 'connectionAttempt' && isOurs(port)) attempts.push(`${String(address)}:${String(port)}`)
      return realEmit.call(this, event, ...values)
    })
  })
  afterAll(() => {
    emit.mockRestore()
  })

  const resolvingTo = (...addresses: string[]): Lookup => {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    return () => Promise.resolve(found)
  }

  it.each([
    [['127.0.0.1']],
    [['10.1.2.3']],
    [['169.254.169.254']],
    [['::1']],
    [['::ffff:127.0.0.1']],
    [['fd00::1', 'fe80::1']],
    [['93.184.216.34', '127.0.0.1']],
    [['127.0.0.1', '93.184.216.34']],
    [['2606:4700:4700::1111', '::1']]
  ])('to any address off the public internet is not connected to: %p', async (addresses) => {
    expect(await reasonFor('https://wallet.example/', { lookup: resolvingTo(...addresses) })).toBe('address')
    expect(attempts).toEqual([])
  })

  it('to nothing is not connected to', async () => {
    expect(await reasonFor('https://wallet.example/', { lookup: resolvingTo() })).toBe('network')
    expect(attempts).toEqual([])
  })

  it('is connected to at the address found, where that one is allowed', async () => {
    const options = { lookup: resolvingTo('127.0.0.1'), allowPrivateNetworks: true }
    // Nothing listens on port 1.
    expect(await reasonFor('https://wallet.example:1/', options)).toBe('network')
    expect(attempts).toEqual(['127.0.0.1:1'])
  })
})

describe('a name in any spelling', () => {
  it.each([
    ['https://localhost/', 'localhost'],
    ['https://localhost./', 'localhost.'],
    ['https://LOCALHOST/', 'localhost'],
    ['https://ｌｏｃａｌｈｏｓｔ/', 'localhost'],
    ['https://wallet.example./', 'wallet.example.'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
    ['https://xn--bcher-kva.example/', 'xn--bcher-kva.example']
  ])('is looked up in its one form, and judged by its address: %s', async (url, host) => {
    const lookup = jest.fn<Lookup>(() => Promise.resolve([{ address: '127.0.0.1', family: 4 }]))
    connect.mockRestore()
    expect(await reasonFor(url, { lookup })).toBe('address')
    expect(lookup.mock.calls.map(([name]) => name)).toEqual([host])
  })
})

it('an internationalized name still works after many fetches', async () => {
  const lookup: Lookup = () => Promise.reject(new Error('is not looked up: the port is refused before'))
  const client = createSafeHttpClient({ ...OPTIONS, lookup })
  const reasons = new Set<string>()
  // As often as makes Node compile what reads the URL.
  for (let count = 0; count < 10_000; count += 1) {
    await client.getJson('https://bücher.example:81/').catch((error: unknown) => {
      reasons.add((error as Error).message)
    })
  }
  await client.close()
  expect([...reasons]).toEqual(['The URL must use the default port'])
})

describe('a name that changes its address between look-ups', () => {
  let server: Server
  let requests = 0

  beforeAll(async () => {
    server = createServer((_, response) => {
      requests += 1
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    server.close()
  })

  it('is connected to only at the checked address', async () => {
    connect.mockRestore()
    const { port } = server.address() as AddressInfo
    let lookups = 0
    // Allowed here, so that the connection can be made; the host is one that no other resolver knows.
    const client = createSafeHttpClient({
      ...OPTIONS,
      allowPrivateNetworks: true,
      lookup: () => {
        lookups += 1
        return Promise.resolve([{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }])
      }
    })

    expect((await client.getJson(`http://rebinding.invalid:${String(port)}/`)).status).toBe(200)
    await client.close()

    expect(lookups).toBe(1)
    expect(requests).toBe(1)
  })
})
