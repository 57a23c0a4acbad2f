import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { connect, createSecureContext, type SecureContextOptions } from 'node:tls'
import { ChannelCredentials, Client, type ServiceError } from '@grpc/grpc-js'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { auth } from '@open-payments-server/proto'
import {
  type CertificateOptions,
  createTestAuthority,
  type TestAuthority
} from '@open-payments-server/testing/certificates'
import { service as healthService } from 'grpc-health-check'
import { callUnary, type Handlers, readStream, shareChannel, status } from '../src/index.js'
import {
  afterTest,
  closing,
  type Implementations,
  introspectionClient,
  limitsClient,
  rejectionOf,
  reserveRequest,
  reserveResponse,
  startServer
} from './fixture.js'
import { clientTls, only, SERVER_NAME, serverTls } from './tls-fixture.js'

const SHOP = 'spiffe://wallet.test/shop'
const MS_PER_HOUR = 3_600_000

let authority: TestAuthority
let stranger: TestAuthority

beforeAll(async () => {
  // Of the same name: what counts is the key.
  ;[authority, stranger] = await Promise.all([createTestAuthority(), createTestAuthority()])
})

const answering = ({ unary }: Handlers): Implementations => ({
  limits: { reserve: unary(() => Promise.resolve(reserveResponse())) }
})

const reserve = (client: auth.GrantLimitsServiceClient): Promise<unknown> =>
  callUnary(client, 'reserve', reserveRequest(), { idempotent: false })

/** Asks after the health of a server, with credentials of any kind. */
function checkHealth(address: string, credentials: ChannelCredentials): Promise<unknown> {
  const client = closing(new Client(address, credentials, { 'grpc.ssl_target_name_override': SERVER_NAME }))
  const { Check } = healthService
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      Check!.path,
      Check!.requestSerialize,
      Check!.responseDeserialize,
      { service: '' },
      (error: ServiceError | null, response?: object) => {
        if (error === null) resolve(response)
        else reject(error)
      }
    )
  })
}

async function startTlsServer(): Promise<Awaited<ReturnType<typeof startServer>>> {
  const { options } = await serverTls(authority)
  return startServer(answering, options, { limits: only(SHOP) })
}

describe('a server with certificates', () => {
  it('answers a client with a listed name', async () => {
    const { server } = await startTlsServer()
    const { options } = await clientTls(authority, { uris: [SHOP] })
    expect(await reserve(limitsClient(server.address, options))).toEqual(reserveResponse())
  })

  it('answers over a channel that several clients share, streams included', async () => {
    const { options } = await serverTls(authority)
    const { server } = await startServer(
      ({ unary, serverStreaming }) => ({
        limits: { reserve: unary(() => Promise.resolve(reserveResponse())) },
        introspection: {
          watchRevocations: serverStreaming(async (_request: auth.WatchRevocationsRequest, stream) => {
            await stream.write(
              auth.WatchRevocationsResponse.fromPartial({ event: { $case: 'started', value: {} } })
            )
          })
        }
      }),
      options,
      { limits: only(SHOP), introspection: only(SHOP) }
    )
    const { options: ofClient } = await clientTls(authority, { uris: [SHOP] })
    const introspection = introspectionClient(server.address, ofClient)
    const events: unknown[] = []
    const { signal } = new AbortController()
    for await (const { event } of readStream(introspection, 'watchRevocations', {}, { signal }))
      events.push(event)
    expect(events).toEqual([{ $case: 'started', value: {} }])
    expect(await reserve(shareChannel(auth.GrantLimitsServiceClient, introspection))).toEqual(
      reserveResponse()
    )
  })

  it.each<[string, () => Promise<Parameters<typeof limitsClient>[1]>]>([
    ['in plain text', () => Promise.resolve({})],
    [
      'with a certificate of another authority',
      async () => (await clientTls(stranger, { uris: [SHOP] }, authority)).options
    ]
  ])('does not take a client that comes %s', async (_, optionsOf) => {
    const { server } = await startTlsServer()
    const client = limitsClient(server.address, { retriesMax: 0, ...(await optionsOf()) })
    expect(await rejectionOf(reserve(client))).toMatchObject({ code: status.UNAVAILABLE })
  })

  it.each<[string, () => Promise<SecureContextOptions>]>([
    ['without a certificate', () => Promise.resolve({})],
    [
      'with one that has expired',
      async () => {
        const notAfter = new Date(Date.now() - MS_PER_HOUR)
        const { certificate, key } = await authority.issue({ uris: [SHOP], notAfter })
        return { cert: certificate, key }
      }
    ],
    [
      'with one that is not good yet',
      async () => {
        const notBefore = new Date(Date.now() + MS_PER_HOUR)
        const { certificate, key } = await authority.issue({ uris: [SHOP], notBefore })
        return { cert: certificate, key }
      }
    ],
    [
      'with a version of TLS before 1.3',
      async () => {
        const { certificate, key } = await authority.issue({ uris: [SHOP] })
        return { cert: certificate, key, maxVersion: 'TLSv1.2' }
      }
    ]
  ])('does not take one that comes %s either', async (_, optionsOf) => {
    const { server } = await startTlsServer()
    const context = createSecureContext({ ca: authority.certificate, ...(await optionsOf()) })
    const credentials = ChannelCredentials.createFromSecureContext(context)
    expect(await rejectionOf(checkHealth(server.address, credentials))).toMatchObject({
      code: status.UNAVAILABLE
    })
  })

  it('resumes no session without a certificate', async () => {
    const { server } = await startTlsServer()
    const { certificate, key } = await authority.issue({ uris: [SHOP] })
    const open = (session?: Buffer): ReturnType<typeof connect> =>
      connect({
        host: '127.0.0.1',
        port: server.port,
        ca: authority.certificate,
        cert: certificate,
        key,
        servername: SERVER_NAME,
        ALPNProtocols: ['h2'],
        ...(session === undefined ? {} : { session })
      })
    const first = open()
    const [session] = (await once(first, 'session')) as [Buffer]
    first.destroy()
    const second = open(session)
    await once(second, 'secureConnect')
    expect(second.isSessionReused()).toBe(false)
    second.destroy()
  })
})

describe('a client with certificates', () => {
  it.each<[string, () => Promise<Parameters<typeof startServer>[1]>]>([
    ['that has none', () => Promise.resolve({})],
    ['of another authority', async () => (await serverTls(stranger)).options],
    ['of another name', async () => (await serverTls(authority, { dnsNames: ['other.test'] })).options],
    [
      'whose name is its common name alone',
      async () => (await serverTls(authority, { commonName: SERVER_NAME })).options
    ]
  ])('does not talk to a server %s', async (_, optionsOf) => {
    const { server } = await startServer(answering, await optionsOf(), { limits: only(SHOP) })
    const { options } = await clientTls(authority, { uris: [SHOP] })
    const client = limitsClient(server.address, { retriesMax: 0, ...options })
    expect(await rejectionOf(reserve(client))).toMatchObject({ code: status.UNAVAILABLE })
  })

  it('asks for the name of its target unless told another', async () => {
    const { options } = await serverTls(authority, { dnsNames: ['localhost'] })
    const { server } = await startServer(answering, options, { limits: only(SHOP) })
    const { tls } = (await clientTls(authority, { uris: [SHOP] })).options
    const client = limitsClient(`localhost:${String(server.port)}`, { tls })
    expect(await reserve(client)).toEqual(reserveResponse())
  })

  it('abandons a server that accepts the connection and stays silent', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    silent.on('connection', (socket) => {
      afterTest(() => socket.destroy())
    })
    afterTest(() => silent.close())
    const address = silent.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const { options } = await clientTls(authority, { uris: [SHOP] })
    const connected = once(silent, 'connection')
    const call = rejectionOf(
      reserve(limitsClient(`127.0.0.1:${String(port)}`, { deadlineMs: 20_000, ...options }))
    )
    const [socket] = (await connected) as [Socket]
    await once(socket.resume(), 'end')
    expect(await call).toMatchObject({ code: status.UNAVAILABLE })
  })
})

describe('the list of clients', () => {
  const MESSAGE = "The client's certificate does not allow this call"

  it.each<[string, CertificateOptions, string[]]>([
    ['another URI', { uris: [`${SHOP}2`] }, [`${SHOP}2`]],
    ['a DNS name that reads like it', { dnsNames: ['shop'] }, ['shop']],
    ['no name', {}, []],
    ['the name as a common name alone', { commonName: SHOP }, []]
  ])('refuses a client with %s, and tells it nothing', async (_, certificate, clientNames) => {
    let handled = 0
    const { options } = await serverTls(authority)
    const { server, lines } = await startServer(
      ({ unary }) => ({
        limits: {
          reserve: unary(() => {
            handled += 1
            return Promise.resolve(reserveResponse())
          })
        }
      }),
      options,
      { limits: only(SHOP) }
    )
    const client = await clientTls(authority, certificate)
    const refusal = await rejectionOf(reserve(limitsClient(server.address, client.options)))
    expect(refusal).toMatchObject({ code: status.PERMISSION_DENIED, message: MESSAGE })
    expect(handled).toBe(0)
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        fields: {
          method: '/openpayments.auth.v1.GrantLimitsService/Reserve',
          clientNames,
          peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/)
        }
      }
    ])
  })

  it('accepts DNS names in any case', async () => {
    const { options } = await serverTls(authority)
    const { server } = await startServer(answering, options, { limits: only('shop.test') })
    const client = await clientTls(authority, { dnsNames: ['Shop.Test'] })
    expect(await reserve(limitsClient(server.address, client.options))).toEqual(reserveResponse())
  })

  it('is per service, and can allow single methods', async () => {
    const { options } = await serverTls(authority)
    const { server } = await startServer(
      ({ unary }) => ({
        limits: {
          reserve: unary(() => Promise.resolve(reserveResponse())),
          listReservations: unary(() => Promise.resolve({ reservations: [] }))
        }
      }),
      options,
      { limits: { everyMethod: [SHOP], furtherOf: { ListReservations: ['auditor.test'] } } }
    )
    const auditor = await clientTls(authority, { dnsNames: ['auditor.test'] })
    const limits = limitsClient(server.address, auditor.options)
    const list = { afterPaymentId: '', pageSize: 1 }
    expect(await callUnary(limits, 'listReservations', list, { idempotent: true })).toEqual({
      reservations: []
    })
    expect(await rejectionOf(reserve(limits))).toMatchObject({ code: status.PERMISSION_DENIED })
    const shop = await clientTls(authority, { uris: [SHOP] })
    const introspection = introspectionClient(server.address, shop.options)
    const introspect = callUnary(
      introspection,
      'introspect',
      { accessToken: 'x', keyId: '' },
      { idempotent: true }
    )
    expect(await rejectionOf(introspect)).toMatchObject({ code: status.PERMISSION_DENIED })
  })

  it('refuses before the message is read', async () => {
    const { options } = await serverTls(authority)
    const { server } = await startServer(answering, options, { limits: only(SHOP) })
    const client = await clientTls(authority, { uris: ['spiffe://wallet.test/other'] })
    const limits = limitsClient(server.address, { ...client.options, messageBytesMax: 10_000_000 })
    const large = callUnary(limits, 'reserve', reserveRequest('x'.repeat(1_000_000)), { idempotent: false })
    expect(await rejectionOf(large)).toMatchObject({ code: status.PERMISSION_DENIED })
  })

  it('does not restrict health checks to listed names', async () => {
    const { server } = await startTlsServer()
    const { certificate, key } = await authority.issue()
    const context = createSecureContext({ ca: authority.certificate, cert: certificate, key })
    const credentials = ChannelCredentials.createFromSecureContext(context)
    expect(await checkHealth(server.address, credentials)).toEqual({ status: 'SERVING' })
  })
})
