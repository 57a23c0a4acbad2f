import { createHash, randomUUID } from 'node:crypto'
import {
  createHandlers,
  type GrpcService,
  type ResponseStream,
  RpcError,
  type RunningGrpcServer,
  startGrpcServer,
  status
} from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { TestKey } from '@open-payments-server/testing'

/** A right as tests write it. */
export interface TestAccess {
  readonly type: 'incoming-payment' | 'outgoing-payment' | 'quote'
  readonly actions: readonly string[]
  readonly identifier?: string
}

/** A token that the fake auth server knows. */
export interface TestToken {
  readonly accessToken: string
  readonly grantId: string
  /** URL of the client's wallet address; empty for a client known by its key alone. */
  readonly client: string
  /** Thumbprint of such a client's key. */
  readonly jwkThumbprint: string
  /** Keys that its client publishes now; undefined while they cannot be fetched. */
  keys: readonly TestKey[] | undefined
  readonly access: readonly TestAccess[]
  /** URL of the wallet address whose account holder agreed; empty when nobody did. */
  readonly consentedWalletAddress: string
  expiresAt: Date
  status: 'active' | 'inactive'
}

/**
 * A small auth server over real gRPC: introspection, and the stream of revocations. It replaces the real one where tests need
 * failures, delays, or a delayed stream.
 */
export interface FakeAuthServer {
  readonly port: number
  /** Number of introspections. */
  readonly introspections: number
  /** Number of open revocation streams. */
  readonly streams: number
  issueToken(token: Partial<Omit<TestToken, 'status'>> & Pick<TestToken, 'keys' | 'access'>): TestToken
  /** The grant (UUID) of a token that was issued here; undefined for any other. */
  grantOf(accessToken: string): string | undefined
  /** The client of a token that was issued here; undefined for any other. */
  clientOf(accessToken: string): string | undefined
  /** Ends a token, and announces it on the streams. */
  revokeToken(token: TestToken): Promise<void>
  /** Ends some tokens, and announces them on the streams in one message. */
  revokeTokens(tokens: readonly TestToken[]): Promise<void>
  /** Ends all tokens of a grant, and announces it on the streams. */
  revokeGrant(grantId: string): Promise<void>
  /** Clients that are frozen: URLs of their wallet addresses. Changed by `changeFreeze`. */
  readonly frozenClients: ReadonlySet<string>
  /** Freezes a client or ends its freeze, and announces it on the streams. */
  changeFreeze(client: string, frozen: boolean): Promise<void>
  /** Pauses or resumes a grant, and announces it on the streams. */
  changePause(grantId: string, paused: boolean): Promise<void>
  /** Runs before each introspection is answered, after it was decided. */
  beforeAnswer: (() => Promise<void>) | undefined
  /** Whether streams may be opened; switching it off ends those that are open. */
  setStreaming(streaming: boolean): void
  /** Resolves once the open streams have reported that they started. */
  whenStreaming(): Promise<void>
  stop(): Promise<void>
}

/** Starts a fake auth server. */
export async function startFakeAuthServer(options: {
  logger: Logger
  /** Further services, such as a fake of the grant limits. */
  services?: readonly GrpcService[]
  port?: number
}): Promise<FakeAuthServer> {
  const fake = new Fake()
  const handlers = createHandlers(options.logger)
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: options.port ?? 0,
    services: [
      {
        definition: auth.IntrospectionServiceService,
        implementation: {
          introspect: handlers.unary((request: auth.IntrospectRequest) => fake.introspect(request)),
          watchRevocations: handlers.serverStreaming(
            (_request: auth.WatchRevocationsRequest, stream: ResponseStream<auth.WatchRevocationsResponse>) =>
              fake.watch(stream)
          )
        }
      },
      ...(options.services ?? [])
    ],
    reflection: false,
    fileDescriptors: [],
    logger: options.logger,
    connectionAgeMaxMs: 300_000,
    messageBytesMax: 1_048_576
  })
  return fake.run(server)
}

class Fake implements Omit<FakeAuthServer, 'port'> {
  introspections = 0
  beforeAnswer: (() => Promise<void>) | undefined
  #server: RunningGrpcServer | undefined
  #streaming = true
  readonly #tokens = new Map<string, TestToken>()
  readonly #open = new Map<ResponseStream<auth.WatchRevocationsResponse>, (error: Error) => void>()
  #waiting: (() => void)[] = []

  run(server: RunningGrpcServer): FakeAuthServer {
    this.#server = server
    return Object.assign(this, { port: server.port })
  }

  get streams(): number {
    return this.#open.size
  }

  issueToken(token: Partial<Omit<TestToken, 'status'>> & Pick<TestToken, 'keys' | 'access'>): TestToken {
    const issued: TestToken = {
      accessToken: createHash('sha256').update(randomUUID()).digest('base64url'),
      grantId: randomUUID(),
      client: 'https://shop.example/wallet',
      jwkThumbprint: '',
      consentedWalletAddress: '',
      expiresAt: new Date(Date.now() + 600_000),
      ...token,
      status: 'active'
    }
    this.#tokens.set(issued.accessToken, issued)
    return issued
  }

  grantOf(accessToken: string): string | undefined {
    return this.#tokens.get(accessToken)?.grantId
  }

  clientOf(accessToken: string): string | undefined {
    return this.#tokens.get(accessToken)?.client
  }

  async revokeToken(token: TestToken): Promise<void> {
    await this.revokeTokens([token])
  }

  async revokeTokens(tokens: readonly TestToken[]): Promise<void> {
    for (const token of tokens) token.status = 'inactive'
    const accessTokenHashes = tokens.map(({ accessToken }) =>
      createHash('sha256').update(accessToken).digest()
    )
    await this.#tell({ event: { $case: 'tokensRevoked', value: { accessTokenHashes } } })
  }

  async revokeGrant(grantId: string): Promise<void> {
    for (const token of this.#tokens.values()) if (token.grantId === grantId) token.status = 'inactive'
    await this.#tell({ event: { $case: 'grantRevoked', value: { grantId } } })
  }

  readonly frozenClients = new Set<string>()

  async changeFreeze(client: string, frozen: boolean): Promise<void> {
    if (frozen) this.frozenClients.add(client)
    else this.frozenClients.delete(client)
    const value = { client: { walletAddress: client, jwkThumbprint: '' } }
    await this.#tell({ event: { $case: 'clientFreezeChanged', value } })
  }

  readonly #pausedGrants = new Set<string>()

  async changePause(grantId: string, paused: boolean): Promise<void> {
    if (paused) this.#pausedGrants.add(grantId)
    else this.#pausedGrants.delete(grantId)
    await this.#tell({ event: { $case: 'grantChanged', value: { grantId } } })
  }

  setStreaming(streaming: boolean): void {
    this.#streaming = streaming
    if (streaming) return
    for (const end of this.#open.values())
      end(new RpcError({ code: status.UNAVAILABLE, message: 'no stream' }))
  }

  async whenStreaming(): Promise<void> {
    if (this.#open.size === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  async introspect({ accessToken, keyId }: auth.IntrospectRequest): Promise<auth.IntrospectResponse> {
    this.introspections += 1
    const response = this.#answer(accessToken, keyId)
    await this.beforeAnswer?.()
    return response
  }

  #answer(accessToken: string, keyId: string): auth.IntrospectResponse {
    const token = this.#tokens.get(accessToken)
    if (token?.status !== 'active') {
      const tokenStatus =
        token === undefined ? auth.TokenStatus.TOKEN_STATUS_UNKNOWN : auth.TokenStatus.TOKEN_STATUS_INACTIVE
      return auth.IntrospectResponse.fromPartial({ status: tokenStatus })
    }
    const key = token.keys?.find((candidate) => keyId === '' || candidate.keyId === keyId)
    return auth.IntrospectResponse.fromPartial({
      status: auth.TokenStatus.TOKEN_STATUS_ACTIVE,
      grantId: token.grantId,
      client: { walletAddress: token.client, jwkThumbprint: token.jwkThumbprint },
      ...(key === undefined ? {} : { key: { kid: key.keyId, x: key.jwk.x } }),
      keyUnavailable: token.keys === undefined,
      access: token.access.map((item) => ({ ...item, actions: [...item.actions] })),
      expireTime: token.expiresAt,
      consentedWalletAddress: token.consentedWalletAddress,
      clientFrozen: this.frozenClients.has(token.client),
      grantPaused: this.#pausedGrants.has(token.grantId)
    })
  }

  async watch(stream: ResponseStream<auth.WatchRevocationsResponse>): Promise<void> {
    if (!this.#streaming) throw new RpcError({ code: status.UNAVAILABLE, message: 'no stream' })
    const ended = new Promise<void>((resolve, reject) => {
      this.#open.set(stream, reject)
      stream.signal.addEventListener('abort', () => {
        resolve()
      })
    })
    // A message that is too late for its stream is dropped.
    const heartbeat = setInterval(
      () => void stream.write({ event: { $case: 'heartbeat', value: {} } }).catch(() => undefined),
      2_000
    )
    try {
      await stream.write({ event: { $case: 'started', value: {} } })
      for (const resolve of this.#waiting.splice(0)) resolve()
      await ended
    } finally {
      clearInterval(heartbeat)
      this.#open.delete(stream)
    }
  }

  async #tell(event: auth.WatchRevocationsResponse): Promise<void> {
    await Promise.all([...this.#open.keys()].map((stream) => stream.write(event)))
  }

  async stop(): Promise<void> {
    await this.#server?.stop(0)
  }
}
