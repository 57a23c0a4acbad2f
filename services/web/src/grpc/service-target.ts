import type { WatchedTlsFiles } from '@open-payments-server/grpc-transport'

/** How a service is reached. */
export interface ServiceTarget {
  readonly target: string
  /** How long one call may take, retries included, in milliseconds. */
  readonly deadlineMs: number
  /** The certificate of this service, and the authorities it trusts; plain text without. */
  readonly tls: WatchedTlsFiles | undefined
  /** Name that the server's certificate must contain; default: that of the target. */
  readonly serverName: string | undefined
}
