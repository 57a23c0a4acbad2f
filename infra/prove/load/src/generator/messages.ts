import type { LatencySummary } from '../statistics.js'

/** A request before it is signed. */
export interface RequestOutline {
  readonly method: string
  /** The URL as clients know it, which is signed. The actual destination is chosen when it is sent. */
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

/** Prepares requests, so that only sending remains. */
export interface PrepareHttp {
  readonly do: 'prepare http'
  readonly outlines: readonly RequestOutline[]
  /** Absent for requests without a signature. */
  readonly signer?: Signer | undefined
}

/** Prepares introspections. */
export interface PrepareGrpc {
  readonly do: 'prepare grpc'
  readonly introspections: readonly { readonly accessToken: string; readonly keyId: string }[]
}

/** Sends what was prepared. */
export interface Send {
  readonly do: 'send'
  /** Origins of HTTP, or addresses of gRPC; connections are spread over them. */
  readonly targets: readonly string[]
  /** Number of connections, and of concurrent requests. */
  readonly concurrency: number
  /** Ends after this time, or when there are no more requests, once all answers have arrived. */
  readonly seconds: number
  /** Maximum number of requests; absent: no limit. */
  readonly count?: number | undefined
  /** Whether to start over at the end, for requests that may be sent twice. */
  readonly repeat: boolean
  /** Every other status fails the run. */
  readonly status: number
  /** Requests started per second, evenly; absent: as many as are answered. */
  readonly perSecond?: number | undefined
  /** Latencies count for requests that start after this time; absent: for all. */
  readonly leadInSeconds?: number | undefined
  /** Paths in the bodies of answers, such as `access_token.value`, whose values are returned. */
  readonly capture?: readonly string[] | undefined
}

/** A task for the generator. */
export type GeneratorTask = PrepareHttp | PrepareGrpc | Send

/** The result of sending. */
export interface Sent extends LatencySummary {
  readonly count: number
  readonly seconds: number
  /** Bytes on all connections, including headers; not counted for gRPC. */
  readonly bytesSent: number
  readonly bytesReceived: number
  /** For each answer, in no order, the values at the requested paths. */
  readonly captured: readonly (readonly string[])[]
}

/** The generator's answer. */
export type GeneratorAnswer =
  { readonly sent: Sent } | { readonly prepared: number } | { readonly failure: string }
