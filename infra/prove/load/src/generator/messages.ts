import type { LatencySummary } from '../statistics.js'

/** A request before it is signed. */
export interface RequestOutline {
  readonly method: string
  /** As clients know it: what is signed. Where it is sent is decided when it is sent. */
  readonly url: string
  readonly accessToken?: string
  /** Sent as JSON. */
  readonly body?: object
}

/** Who signs requests. */
export interface Signer {
  readonly keyId: string
  /** PKCS #8, PEM. */
  readonly privateKey: string
}

/** Makes requests ready to be sent: everything but the time on the wire is done then. */
export interface PrepareHttp {
  readonly do: 'prepare http'
  readonly outlines: readonly RequestOutline[]
  /** Absent: they are sent without a signature. */
  readonly signer?: Signer | undefined
}

/** Makes introspections ready to be sent. */
export interface PrepareGrpc {
  readonly do: 'prepare grpc'
  readonly introspections: readonly { readonly accessToken: string; readonly keyId: string }[]
}

/** Sends what was made ready. */
export interface Send {
  readonly do: 'send'
  /** Origins of HTTP, or addresses of gRPC; connections are spread over them. */
  readonly targets: readonly string[]
  /** Connections, and so requests under way at a time. */
  readonly concurrency: number
  /** Ends after this time, or when there are no more requests. Requests under way are waited for. */
  readonly seconds: number
  /** Most requests that are sent; absent: no other limit. */
  readonly count?: number | undefined
  /** Begins anew when it comes to the end: for what may be sent twice. */
  readonly repeat: boolean
  /** Every other status fails the run. */
  readonly status: number
  /** Requests per second that are begun, as evenly as can be; absent: as many as are answered. */
  readonly perSecond?: number | undefined
  /** Latencies count of requests that begin after this time; absent: of all. */
  readonly leadInSeconds?: number | undefined
  /** Paths in the bodies of answers, such as `access_token.value`, that are handed back. */
  readonly capture?: readonly string[] | undefined
}

/** What is asked of the generator. */
export type GeneratorTask = PrepareHttp | PrepareGrpc | Send

/** The result of sending. */
export interface Sent extends LatencySummary {
  readonly count: number
  readonly seconds: number
  /** All bytes that connections carried, headers included; for gRPC none are counted. */
  readonly bytesSent: number
  readonly bytesReceived: number
  /** For each answer, in no order, what was found under the paths that were asked for. */
  readonly captured: readonly (readonly string[])[]
}

/** How the generator answers. */
export type GeneratorAnswer =
  { readonly sent: Sent } | { readonly prepared: number } | { readonly failure: string }
