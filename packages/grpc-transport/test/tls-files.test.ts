import { setTimeout as delay } from 'node:timers/promises'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import {
  createTestAuthority,
  type TestAuthority,
  type TestCertificate,
  type TestTlsFolder,
  writeTlsFiles
} from '@open-payments-server/testing/certificates'
import { callUnary, status, watchTlsFiles } from '../src/index.js'
import {
  afterTest,
  limitsClient,
  recordingLogger,
  rejectionOf,
  reserveRequest,
  reserveResponse,
  startServer
} from './fixture.js'
import {
  channelTls,
  LOOK_INTERVAL_MS,
  only,
  replaceFiles,
  SERVER_NAME,
  serverTls,
  shownSerial,
  tlsFiles,
  watchEnd
} from './tls-fixture.js'

const SHOP = 'spiffe://wallet.test/shop'
const MS_PER_HOUR = 3_600_000

let authority: TestAuthority
let own: TestCertificate

beforeAll(async () => {
  authority = await createTestAuthority()
  own = await authority.issue({ dnsNames: [SERVER_NAME], uris: [SHOP] })
})

/** What starting with the files is refused with. */
async function problemsOf(folder: TestTlsFolder): Promise<readonly string[]> {
  afterTest(() => folder.remove())
  const { logger } = recordingLogger()
  const error = await rejectionOf(watchTlsFiles(tlsFiles(folder), { logger }))
  if (!(error instanceof ConfigurationError)) throw error
  return error.problems
}

describe('files that a service is started with', () => {
  it('are all named by their settings when unreadable', async () => {
    const folder = await writeTlsFiles(own, authority.certificate)
    await folder.remove()
    const { certificate, key, authority: ca } = folder.files
    expect(await problemsOf(folder)).toEqual([
      expect.stringContaining(`OWN_CERTIFICATE: ${certificate} cannot be read: ENOENT`),
      expect.stringContaining(`OWN_KEY: ${key} cannot be read: ENOENT`),
      expect.stringContaining(`OTHERS_CA: ${ca} cannot be read: ENOENT`)
    ])
  })

  it.each<[string, () => Promise<[TestCertificate, string]>, RegExp]>([
    [
      'a key of another certificate',
      async () => [{ ...own, key: (await authority.issue()).key }, authority.certificate],
      /^OWN_KEY: \S+ must contain the key of the certificate in \S+$/
    ],
    [
      'a certificate that has expired',
      async () => [
        await authority.issue({ notAfter: new Date(Date.now() - MS_PER_HOUR) }),
        authority.certificate
      ],
      /^OWN_CERTIFICATE: the certificate in \S+ is good only from .* to .*$/
    ],
    [
      'a certificate that is half written',
      () => Promise.resolve([{ ...own, certificate: own.certificate.slice(0, 200) }, authority.certificate]),
      /^OWN_CERTIFICATE: \S+ must contain PEM certificates, whole$/
    ],
    [
      'a chain that breaks off',
      () =>
        Promise.resolve([
          { ...own, certificate: own.certificate + '\n' + authority.certificate.slice(0, 20) },
          authority.certificate
        ]),
      /^OWN_CERTIFICATE: \S+ must contain PEM certificates, whole$/
    ],
    [
      'a key that is none',
      () => Promise.resolve([{ ...own, key: own.certificate }, authority.certificate]),
      /^OWN_KEY: \S+ must contain a PEM key without a passphrase$/
    ],
    [
      'no authority',
      () => Promise.resolve([own, '']),
      /^OTHERS_CA: \S+ must contain PEM certificates, whole$/
    ]
  ])('are refused with %s', async (_, contents, problem) => {
    expect(await problemsOf(await writeTlsFiles(...(await contents())))).toEqual([
      expect.stringMatching(problem)
    ])
  })
})

describe('files that are replaced while a service runs', () => {
  const answering = { limits: only(SHOP) }

  async function startRotating() {
    const { end, options } = await serverTls(authority)
    const { server } = await startServer(
      ({ unary }) => ({ limits: { reserve: unary(() => Promise.resolve(reserveResponse())) } }),
      { ...options, connectionAgeMaxMs: 50 },
      answering
    )
    return { end, server }
  }

  it('change certificates and authorities of both ends without a failed call', async () => {
    const { end: serverEnd, server } = await startRotating()
    const clientEnd = await watchEnd(own, authority.certificate)
    const client = limitsClient(server.address, channelTls(clientEnd))
    let stopped = false
    let answered = 0
    const calling = (async () => {
      while (!stopped) {
        await callUnary(client, 'reserve', reserveRequest(), { idempotent: true })
        answered += 1
      }
    })()
    /** New connections are made all the time: a connection lives for 50 ms. */
    const passCalls = async (): Promise<void> => {
      const enough = answered + 100
      while (answered < enough) await Promise.race([calling, delay(5)])
    }
    const next = await createTestAuthority('next')
    const both = authority.certificate + '\n' + next.certificate
    const nextServer = await next.issue({ dnsNames: [SERVER_NAME] })
    const nextClient = await next.issue({ uris: [SHOP] })
    const oldServer: TestCertificate = {
      certificate: await readFile(serverEnd.folder.files.certificate, 'utf8'),
      key: await readFile(serverEnd.folder.files.key, 'utf8')
    }

    await passCalls()
    await Promise.all([replaceFiles(serverEnd, oldServer, both), replaceFiles(clientEnd, own, both)])
    await passCalls()
    await replaceFiles(serverEnd, nextServer, both)
    await passCalls()
    await replaceFiles(clientEnd, nextClient, both)
    await passCalls()
    await Promise.all([
      replaceFiles(serverEnd, nextServer, next.certificate),
      replaceFiles(clientEnd, nextClient, next.certificate)
    ])
    await passCalls()
    stopped = true
    await calling

    // The authority that went is trusted no more.
    const outdated = await watchEnd(own, both)
    const refused = limitsClient(server.address, { ...channelTls(outdated), retriesMax: 0 })
    expect(
      await rejectionOf(callUnary(refused, 'reserve', reserveRequest(), { idempotent: false }))
    ).toMatchObject({
      code: status.UNAVAILABLE
    })
  })

  it('are not used while they do not match: the previous ones stay, logged once', async () => {
    const { end, server } = await startRotating()
    const client = { ca: authority.certificate, cert: own.certificate, key: own.key }
    const before = await shownSerial(server.port, client)
    const other = await authority.issue({ dnsNames: [SERVER_NAME] })
    const good = await readFile(end.folder.files.certificate, 'utf8')
    const key = await readFile(end.folder.files.key, 'utf8')
    const warnings = () => end.lines.filter(({ level }) => level === 'warn')

    await end.folder.replace({ certificate: other.certificate, key }, authority.certificate)
    while (warnings().length < 1) await delay(LOOK_INTERVAL_MS)
    expect(await shownSerial(server.port, client)).toBe(before)
    await end.folder.replace({ certificate: good.slice(0, 300), key }, authority.certificate)
    while (warnings().length < 2) await delay(LOOK_INTERVAL_MS)
    expect(await shownSerial(server.port, client)).toBe(before)
    await rm(end.folder.files.key)
    while (warnings().length < 3) await delay(LOOK_INTERVAL_MS)
    expect(await shownSerial(server.port, client)).toBe(before)

    expect(warnings().map(({ fields }) => fields.reason)).toEqual([
      expect.stringContaining('OWN_KEY: '),
      expect.stringContaining('OWN_CERTIFICATE: '),
      expect.stringContaining('OWN_KEY: ')
    ])
    await replaceFiles(end, other, authority.certificate)
    expect(await shownSerial(server.port, client)).not.toBe(before)
  })

  it('are also used when written one by one', async () => {
    const { end, server } = await startRotating()
    const client = { ca: authority.certificate, cert: own.certificate, key: own.key }
    const before = await shownSerial(server.port, client)
    const next = await authority.issue({ dnsNames: [SERVER_NAME] })
    const used = new Promise<void>((resolve) => end.watched.onChange(() => resolve()))
    await writeFile(end.folder.files.certificate, next.certificate)
    await writeFile(end.folder.files.key, next.key)
    await used
    expect(await shownSerial(server.port, client)).not.toBe(before)
  })
})
