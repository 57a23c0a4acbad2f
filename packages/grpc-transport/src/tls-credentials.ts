import type { SecureServerOptions } from 'node:http2'
import { checkServerIdentity, createSecureContext, type PeerCertificate } from 'node:tls'
import { ChannelCredentials, type experimental, ServerCredentials } from '@grpc/grpc-js'
import { within } from '@open-payments-server/runtime'
import type { WatchedTlsFiles } from './watched-tls-files.js'

/** Maximum duration of a handshake. */
const HANDSHAKE_TIMEOUT_MS = 5_000

/** Every client presents a certificate. */
const SERVER_OPTIONS: SecureServerOptions = {
  requestCert: true,
  rejectUnauthorized: true,
  handshakeTimeout: HANDSHAKE_TIMEOUT_MS
}

/**
 * Credentials of a server that accepts only clients whose certificate one of the authorities signed. New connections use
 * the current files; existing ones do not change.
 */
export function createServerCredentials(files: WatchedTlsFiles): ServerCredentials {
  return new WatchedServerCredentials(files)
}

/**
 * Credentials of a channel to a server whose certificate one of the authorities signed and that has the expected name. New
 * connections use the current files.
 */
export function createChannelCredentials(files: WatchedTlsFiles): ChannelCredentials {
  return new WatchedChannelCredentials(files)
}

// The library's own credentials that read files are experimental, and their server refuses every connection while a file is
// missing or does not match. So these extend the base classes of all its credentials.

class WatchedServerCredentials extends ServerCredentials {
  readonly #files: WatchedTlsFiles

  constructor(files: WatchedTlsFiles) {
    super(SERVER_OPTIONS, files.current)
    this.#files = files
    files.onChange((current) => {
      this.updateSecureContextOptions(current)
    })
  }

  override _equals(other: ServerCredentials): boolean {
    return other instanceof WatchedServerCredentials && other.#files === this.#files
  }
}

type CreateConnector = ChannelCredentials['_createSecureConnector']

class WatchedChannelCredentials extends ChannelCredentials {
  readonly #files: WatchedTlsFiles

  constructor(files: WatchedTlsFiles) {
    super()
    this.#files = files
  }

  override _isSecure(): boolean {
    return true
  }

  override _equals(other: ChannelCredentials): boolean {
    return other instanceof WatchedChannelCredentials && other.#files === this.#files
  }

  /** Lives as long as its subchannel, and connects with what is current each time. */
  override _createSecureConnector(...parameters: Parameters<CreateConnector>): experimental.SecureConnector {
    const current = (): experimental.SecureConnector =>
      ChannelCredentials.createFromSecureContext(createSecureContext(this.#files.current), {
        checkServerIdentity: checkServerName
      })._createSecureConnector(...parameters)
    const callCredentials = current().getCallCredentials()
    return {
      // Otherwise, a handshake that the other side never answers would keep its socket for ever.
      connect: (socket) => within(HANDSHAKE_TIMEOUT_MS, 'the other side', current().connect(socket)),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => callCredentials,
      destroy: () => undefined
    }
  }
}

/** Node's check, without its fallback: authorities do not vouch for common names. */
function checkServerName(host: string, certificate: PeerCertificate): Error | undefined {
  return checkServerIdentity(host, { ...certificate, subject: { ...certificate.subject, CN: '' } })
}
