import {
  createClient,
  RETRIES_MAX,
  shareChannel,
  type WatchedTlsFiles,
  whenReady
} from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'

/** Clients of everything that the auth server offers to services. */
export interface AuthServerConnection {
  readonly introspection: auth.IntrospectionServiceClient
  readonly grantLimits: auth.GrantLimitsServiceClient
  readonly grantOperator: auth.GrantOperatorServiceClient
  /** Resolves when the auth server is connected, and rejects if it is not within the time. */
  whenReady(timeoutMs: number): Promise<void>
  close(): void
}

/**
 * Creates the clients. They connect by themselves, and reconnect when a connection breaks.
 *
 * @param options.deadlineMs how long one call may take, retries included
 * @param options.messageBytesMax largest message
 * @param options.tls the certificate of this service, and the authorities it trusts; plain text without
 * @param options.serverName name that the auth server's certificate must contain; default: that of the target
 */
export function connectAuthServer(options: {
  target: string
  deadlineMs: number
  messageBytesMax: number
  tls?: WatchedTlsFiles | undefined
  serverName?: string | undefined
}): AuthServerConnection {
  const introspection = createClient(auth.IntrospectionServiceClient, { ...options, retriesMax: RETRIES_MAX })
  const grantLimits = shareChannel(auth.GrantLimitsServiceClient, introspection)
  // An audit takes minutes, as long as a connection lives, so it has a channel of its own.
  const grantOperator = createClient(auth.GrantOperatorServiceClient, {
    ...options,
    retriesMax: RETRIES_MAX,
    callsAreLong: true
  })
  return {
    introspection,
    grantLimits,
    grantOperator,
    whenReady: (timeoutMs) => whenReady(introspection, timeoutMs),
    close() {
      introspection.close()
      grantOperator.close()
    }
  }
}
