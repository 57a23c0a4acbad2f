import { type ChannelOptions, tlsFilesOf, watchTlsFiles } from '@open-payments-server/grpc-transport'
import { createLogger } from '@open-payments-server/runtime'
import {
  type CertificateOptions,
  createTestAuthority,
  type TestTlsFiles,
  writeTlsFiles
} from '@open-payments-server/testing/certificates'
import type { ServiceName } from './service-name.js'

/** Names of the clients of a system, as in their certificates. */
export const CLIENT_NAMES = {
  'resource-server': 'spiffe://wallet.test/resource-server',
  operator: 'spiffe://wallet.test/operator',
  watcher: 'spiffe://wallet.test/risk',
  pages: 'spiffe://wallet.test/web',
  gateway: 'gateway.wallet.test'
} as const

/** Names of the services of a system, as in their certificates. */
export const SERVER_NAMES = {
  'auth-server': 'auth-server.wallet.test',
  'resource-server': 'resource-server.wallet.test'
} as const

/** TLS options of a channel. */
export type ChannelTls = Required<Pick<ChannelOptions, 'tls' | 'serverName'>>

/** Certificates of one authority for both services of a system, and for their callers. */
export interface SystemTls {
  /** Settings of the auth server. */
  readonly auth: Readonly<Record<string, string>>
  /** Settings of the resource server. */
  readonly resource: Readonly<Record<string, string>>
  /** Issues a certificate of the system's authority, and writes it with its key. */
  files(certificate: CertificateOptions): Promise<TestTlsFiles>
  /** TLS options for a client with a certificate. */
  channel(certificate: CertificateOptions, service: ServiceName): Promise<ChannelTls>
  /** Ends it, when the system has stopped. */
  stop(): Promise<void>
}

/**
 * Makes the certificates. The resource server may introspect and use limits, operators may operate, a gateway may introspect,
 * a watcher may watch events, and pages may ask who holds a wallet address.
 */
export async function createSystemTls(): Promise<SystemTls> {
  const authority = await createTestAuthority()
  const cleanUps: (() => Promise<void>)[] = []
  const write = async (certificate: CertificateOptions): Promise<TestTlsFiles> => {
    const folder = await writeTlsFiles(await authority.issue(certificate), authority.certificate)
    cleanUps.push(() => folder.remove())
    return folder.files
  }
  const authServer = await write({ dnsNames: [SERVER_NAMES['auth-server']] })
  const resourceServer = await write({
    dnsNames: [SERVER_NAMES['resource-server']],
    uris: [CLIENT_NAMES['resource-server']]
  })
  return {
    auth: {
      ...listener(authServer),
      GRPC_INTROSPECTION_CLIENTS: `${CLIENT_NAMES['resource-server']}, ${CLIENT_NAMES.gateway}`,
      GRPC_LIMITS_CLIENTS: CLIENT_NAMES['resource-server'],
      GRPC_OPERATOR_CLIENTS: CLIENT_NAMES.operator,
      GRPC_EVENT_CLIENTS: CLIENT_NAMES.watcher,
      GRPC_HOLDER_CLIENTS: CLIENT_NAMES.pages
    },
    resource: {
      ...listener(resourceServer),
      GRPC_OPERATOR_CLIENTS: CLIENT_NAMES.operator,
      GRPC_EVENT_CLIENTS: CLIENT_NAMES.watcher,
      GRPC_HOLDER_CLIENTS: CLIENT_NAMES.pages,
      AUTH_GRPC_TLS_CA_FILE: resourceServer.authority,
      AUTH_GRPC_TLS_CERTIFICATE_FILE: resourceServer.certificate,
      AUTH_GRPC_TLS_KEY_FILE: resourceServer.key,
      AUTH_GRPC_TLS_SERVER_NAME: SERVER_NAMES['auth-server']
    },
    files: write,
    async channel(certificate, service) {
      const settings = { certificate: 'certificate', key: 'key', authority: 'authority' } as const
      const files = tlsFilesOf(settings, { ...(await write(certificate)) })
      if (files === undefined) throw new Error('every file is named')
      const tls = await watchTlsFiles(files, { logger: createLogger({ service: 'test', level: 'silent' }) })
      cleanUps.push(() => tls.stop())
      return { tls, serverName: SERVER_NAMES[service] }
    },
    async stop() {
      for (const cleanUp of cleanUps.toReversed()) await cleanUp()
    }
  }
}

function listener(files: TestTlsFiles): Record<string, string> {
  return {
    GRPC_TLS_CERTIFICATE_FILE: files.certificate,
    GRPC_TLS_KEY_FILE: files.key,
    GRPC_TLS_CLIENT_CA_FILE: files.authority
  }
}
