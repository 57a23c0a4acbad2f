import {
  callUnary,
  createClient,
  RETRIES_MAX,
  RpcError,
  status,
  type WatchedTlsFiles
} from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { MESSAGE_BYTES_MAX } from '@open-payments-server/service-kit/grpc'
import { type Holders, ServiceAway } from '../domain/grant.js'

/** Codes by which a person does not hold a wallet address. */
const NOT_HELD: ReadonlySet<number> = new Set([status.FAILED_PRECONDITION, status.NOT_FOUND])

/** The resource server, for what pages ask about account holders. */
export interface ResourceServerConnection extends Holders {
  close(): void
}

/**
 * Connects by itself, and reconnects when the connection breaks.
 *
 * @param options.deadlineMs how long one call may take, retries included
 * @param options.tls the certificate of this service, and the authorities it trusts; plain text without
 * @param options.serverName name that the server's certificate must contain; default: that of the target
 */
export function connectResourceServer(options: {
  target: string
  deadlineMs: number
  tls: WatchedTlsFiles | undefined
  serverName: string | undefined
}): ResourceServerConnection {
  const client = createClient(wallet.HolderServiceClient, {
    ...options,
    retriesMax: RETRIES_MAX,
    messageBytesMax: MESSAGE_BYTES_MAX
  })
  return {
    async stateOwnership(walletAddress, { issuer, sub }) {
      try {
        const request = { walletAddress, issuer, sub }
        const { statement } = await callUnary(client, 'stateOwnership', request, { idempotent: true })
        return statement
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        if (NOT_HELD.has(error.code)) return undefined
        throw new ServiceAway('the resource server', { cause: error })
      }
    },
    close() {
      client.close()
    }
  }
}
