import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createSafeHttpClient, type SafeHttpClient } from '../src/index.js'
import { createNameServerLookup, type Lookup } from '../src/lookup.js'

/** Many times the threads that the system's look-up has. */
const SILENT_NAMES = 100
/** Long enough that what ends before was cancelled. */
const FOREVER_MS = 600_000
const TYPE_A = 1
const HEADER_BYTES = 12

/** Answers a query (RFC 1035 §4.1) for IPv4 with 127.0.0.1, and any other with no record. */
function answerTo(query: Buffer): Buffer {
  const questionEnd = query.indexOf(0, HEADER_BYTES) + 5
  const question = query.subarray(HEADER_BYTES, questionEnd)
  const hasRecord = question.readUInt16BE(question.length - 4) === TYPE_A
  const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, hasRecord ? 1 : 0, 0, 0, 0, 0])
  query.copy(header, 0, 0, 2)
  const record = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 4, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([header, question, ...(hasRecord ? [record] : [])])
}

/** A name server on the loopback. */
async function startNameServer(answer: (query: Buffer) => Buffer | undefined): Promise<Socket> {
  const socket = createSocket('udp4', (query, { port, address }) => {
    const message = answer(query)
    if (message !== undefined) socket.send(message, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}

function lookupAt(nameServer: Socket, timeoutMs: number): Lookup {
  return createNameServerLookup({ servers: [`127.0.0.1:${String(nameServer.address().port)}`], timeoutMs })
}

describe('names whose name server never answers', () => {
  let nameServer: Socket
  let silentNameServer: Socket
  let wallet: Server
  let client: SafeHttpClient
  let lookups: Promise<unknown>[]

  beforeEach(async () => {
    nameServer = await startNameServer(answerTo)
    silentNameServer = await startNameServer(() => undefined)
    wallet = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    }).listen(0, '127.0.0.1')
    await once(wallet, 'listening')
    lookups = []
    const lookup: Lookup = (hostname, signal) => {
      const server = hostname.startsWith('silent') ? silentNameServer : nameServer
      const found = lookupAt(server, FOREVER_MS)(hostname, signal)
      lookups.push(found)
      return found
    }
    client = createSafeHttpClient({
      // The hosts of this test are on the loopback.
      allowPrivateNetworks: true,
      lookup,
      timeoutMs: FOREVER_MS,
      bodyBytesMax: 1_000,
      userAgent: 'test'
    })
  })
  afterEach(async () => {
    await client.close()
    wallet.close()
    nameServer.close()
    silentNameServer.close()
  })

  const urlOf = (name: string): string =>
    `http://${name}.test:${String((wallet.address() as AddressInfo).port)}/`

  it('do not block other names, and their lookups are cancelled with the requests', async () => {
    const requests = Array.from({ length: SILENT_NAMES }, (_, index) => {
      const abort = new AbortController()
      return { abort, response: client.getJson(urlOf(`silent-${String(index)}`), abort) }
    })
    const failures = Promise.allSettled(requests.map(({ response }) => response))

    expect((await client.getJson(urlOf('answered'))).status).toBe(200)

    const reason = new Error('no longer wanted')
    for (const { abort } of requests) abort.abort(reason)
    expect(await failures).toEqual(requests.map(() => ({ status: 'rejected', reason })))
    const ends = await Promise.allSettled(lookups)
    const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    // Without being cancelled, they would fail as well, but only after the name server's time.
    expect(reasons).toEqual(requests.map(() => expect.objectContaining({ code: 'ECANCELLED' })))
  })

  it('are abandoned after the timeout of the name server', async () => {
    const lookup = lookupAt(silentNameServer, 1)
    await expect(lookup('silent.test', new AbortController().signal)).rejects.toMatchObject({
      code: 'ETIMEOUT'
    })
  })
})
