import { setTimeout as delay } from 'node:timers/promises'
import { signRequest } from '@open-payments-server/http-signatures/sign'
import type { TestKey } from '@open-payments-server/testing'
import { Agent, EventSource } from 'undici'

/** Who reads, and where. */
export interface Reader {
  readonly key: TestKey
  readonly accessToken: string
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  /** The actual URL for a signed one. */
  readonly connect: (url: string) => string
}

/** A message of a stream. */
export interface Message {
  readonly type: string
  readonly id: string
  readonly data: Record<string, unknown>
}

/** A stream as undici reads it, which is the EventSource of Node and not ours. */
export interface TestEventSource {
  readonly messages: readonly Message[]
  /** When each of them came, in milliseconds of `performance.now()`. */
  readonly toldAtMs: readonly number[]
  /** Value of `Last-Event-ID` of each request, undefined for the first. */
  readonly requests: readonly (string | undefined)[]
  /** Resolves once it is open. */
  whenOpen(): Promise<void>
  /** Resolves once there are so many messages. */
  whenTold(count: number): Promise<readonly Message[]>
  /** Resolves once it has given up: it does not come back. */
  whenClosed(): Promise<void>
  close(): Promise<void>
}

/** Headers of a signed GET. */
export function signedHeaders(
  { key, accessToken, now }: Pick<Reader, 'key' | 'accessToken' | 'now'>,
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Record<string, string> {
  const all = { ...headers, authorization: `GNAP ${accessToken}` }
  const { keyId, privateKey } = key
  const createdSeconds = Math.floor(now() / 1_000)
  const parts = { method: 'GET', targetUri: url, headers: all, body: undefined }
  return { ...all, ...signRequest(parts, { keyId, privateKey, createdSeconds }) }
}

const POLL_MS = 5

/** Opens a stream. It comes back as browsers do, each time with a signature of that moment. */
export function openEventSource(url: string, types: readonly string[], reader: Reader): TestEventSource {
  const requests: (string | undefined)[] = []
  const messages: Message[] = []
  const toldAtMs: number[] = []
  const agent = new Agent()
  const signing = agent.compose((dispatch) => (options, handler) => {
    const headers = options.headers as Record<string, string>
    requests.push(headers['last-event-id'])
    // As a load balancer sends it to whoever is there now.
    const { origin } = new URL(reader.connect(url))
    return dispatch({ ...options, origin, headers: { ...headers, ...signedHeaders(reader, url) } }, handler)
  })
  const source = new EventSource(reader.connect(url), { node: { dispatcher: signing } })
  for (const type of types) {
    source.addEventListener(type, (event: unknown) => {
      const { lastEventId, data } = event as { lastEventId: string; data: string }
      messages.push({ type, id: lastEventId, data: JSON.parse(data) as Record<string, unknown> })
      toldAtMs.push(performance.now())
    })
  }
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await delay(POLL_MS)
  }
  return {
    messages,
    toldAtMs,
    requests,
    whenOpen: () => until(() => source.readyState === source.OPEN),
    async whenTold(count) {
      await until(() => messages.length >= count)
      return messages
    },
    whenClosed: () => until(() => source.readyState === source.CLOSED),
    async close() {
      source.close()
      await agent.destroy()
    }
  }
}
