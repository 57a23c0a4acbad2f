import { once } from 'node:events'
import { connect, type ConnectionOptions } from 'node:tls'
import {
  type CertificateOptions,
  type TestAuthority,
  type TestCertificate,
  type TestTlsFolder,
  writeTlsFiles
} from '@open-payments-server/testing/certificates'
import {
  type AllowedClients,
  type ChannelOptions,
  type GrpcServerOptions,
  type TlsFiles,
  tlsFilesOf,
  type WatchedTlsFiles,
  watchTlsFiles
} from '../src/index.js'
import { afterTest, type LogLine, recordingLogger } from './fixture.js'

/** Between two looks at files under test. */
export const LOOK_INTERVAL_MS = 5

/** Name of the servers under test, which their certificates bear and their clients ask for. */
export const SERVER_NAME = 'server.test'

/** One end of connections: its files and what watches them. */
export interface TlsEnd {
  readonly folder: TestTlsFolder
  readonly watched: WatchedTlsFiles
  readonly lines: readonly LogLine[]
}

/** The settings that the tests name files by. */
const SETTINGS = { certificate: 'OWN_CERTIFICATE', key: 'OWN_KEY', authority: 'OTHERS_CA' } as const

/** Files as settings name them. */
export function tlsFiles({ files }: TestTlsFolder): TlsFiles {
  const found = tlsFilesOf(SETTINGS, {
    OWN_CERTIFICATE: files.certificate,
    OWN_KEY: files.key,
    OTHERS_CA: files.authority
  })
  if (found === undefined) throw new Error('every file is named')
  return found
}

/** Writes files and watches them until the test ends. */
export async function watchEnd(own: TestCertificate, authority: string): Promise<TlsEnd> {
  const folder = await writeTlsFiles(own, authority)
  afterTest(() => folder.remove())
  const { logger, lines } = recordingLogger()
  const watched = await watchTlsFiles(tlsFiles(folder), { logger, intervalMs: LOOK_INTERVAL_MS })
  afterTest(() => watched.stop())
  return { folder, watched, lines }
}

/** Replaces the files of an end, and waits until they are used. */
export async function replaceFiles(end: TlsEnd, own: TestCertificate, authority: string): Promise<void> {
  const used = new Promise<void>((resolve) => {
    const stop = end.watched.onChange(() => {
      stop()
      resolve()
    })
  })
  await end.folder.replace(own, authority)
  await used
}

/** What makes a server speak TLS: as options of `startServer`. */
export async function serverTls(
  authority: TestAuthority,
  options: CertificateOptions = { dnsNames: [SERVER_NAME] }
): Promise<{ end: TlsEnd; options: Partial<GrpcServerOptions> }> {
  const end = await watchEnd(await authority.issue(options), authority.certificate)
  return { end, options: { tls: end.watched } }
}

/** What makes a client speak TLS: as options of a channel. */
export async function clientTls(
  issuer: TestAuthority,
  certificate: CertificateOptions,
  trusted = issuer
): Promise<{ end: TlsEnd; options: Partial<ChannelOptions> }> {
  const end = await watchEnd(await issuer.issue(certificate), trusted.certificate)
  return { end, options: channelTls(end) }
}

/** How a channel is made with the files of an end. */
export function channelTls({ watched }: TlsEnd): Partial<ChannelOptions> {
  return { tls: watched, serverName: SERVER_NAME }
}

/** Lets one client call every method. */
export function only(...names: string[]): AllowedClients {
  return { everyMethod: names }
}

/** Serial number of the certificate that a server shows to a client that has one too. */
export async function shownSerial(port: number, options: ConnectionOptions): Promise<string> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: SERVER_NAME,
    ALPNProtocols: ['h2'],
    ...options
  })
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}
