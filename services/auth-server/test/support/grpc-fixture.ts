import { createPool, createPrismaAdapter, type DatabasePool } from '@open-payments-server/database'
import {
  callUnary,
  createClient,
  isRpcError,
  type RequestOf,
  type ResponseOf,
  status,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { importEd25519Jwk } from '@open-payments-server/http-signatures'
import { auth } from '@open-payments-server/proto'
import { createLogger, systemRandom } from '@open-payments-server/runtime'
import { startGrpcServices } from '@open-payments-server/service-kit/grpc'
import type { Operators } from '@open-payments-server/service-kit/operators'
import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret, newId, randomSecret } from '@open-payments-server/value-types/identifiers'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { createTestDatabase, type TestDatabase, TestClock } from '@open-payments-server/testing'
import type { Amount } from '@open-payments-server/value-types/amounts'
import { UnsecuredJWT } from 'jose'
import type { AccessItem } from '../../src/domain/access.js'
import type { Holder } from '../../src/domain/allowed-grants.js'
import { type ConsentProof, hashDocument } from '../../src/domain/consent-proof.js'
import type { GrpcDependencies } from '../../src/compose/grpc-dependencies.js'
import { createGrpcServices } from '../../src/compose/grpc-services.js'
import type { ClientKey } from '@open-payments-server/http-signatures'
import type { RevocationBus } from '../../src/domain/revocations.js'
import { type GrantState, PrismaClient } from '../../src/generated/prisma/client.js'
import { storeAccessItem } from '../../src/modules/grants/index.js'
import { createRevocationBus, createTokenReader } from '../../src/modules/tokens/index.js'
import { BELIEVE_PAGES } from './believe-pages.js'
import { COUNT_NOTHING } from './count-nothing.js'
import { openEveryOperator } from './open-operators.js'
import { createTestTelling } from './test-telling.js'

type Limits = auth.GrantLimitsServiceClient

/** Default wallet address of the sender. */
export const ALICE = 'https://wallet.example/alice'
/** Default incoming payment of the receiver. */
export const RECEIVER = 'https://wallet.example/incoming-payments/1'
/** Default client of grants. */
export const SHOP = 'https://wallet.example/shop'
/** Key that signed the tests' grant requests, and that their client publishes. */
export const BOUND_KEY = { kid: 'shop-1', x: 'Vn6u-0yCm3IlJRAxvWPyb4HQUn3uQqPJnwcwNJfRcFU' }

export const usd = (value: bigint): Amount => ({ value, asset: { code: 'USD', scale: 2 } })
export const eur = (value: bigint): Amount => ({ value, asset: { code: 'EUR', scale: 2 } })

/** An access item that allows creating outgoing payments from a wallet address. */
export const spending = (limits?: AccessItem['limits'], identifier = ALICE): AccessItem => ({
  type: 'outgoing-payment',
  actions: ['create', 'read'],
  identifier,
  limits
})

/** Options of a grant. */
export interface GrantOptions {
  readonly access: readonly AccessItem[]
  readonly state?: GrantState
  readonly clientWalletAddress?: string
  /** Whether the client is identified by its key alone. */
  readonly clientJwkThumbprint?: string
  readonly expiresAtMs?: number
  /** The interaction; default: approved if the grant has outgoing payments. */
  readonly interaction?: 'PENDING' | 'APPROVED' | 'DENIED' | 'nobody was asked'
  /** Wallet address of the account holder; default: that of the first access item. */
  readonly askedWalletAddress?: string
}

/** A grant in the database. */
export interface WrittenGrant {
  readonly grantId: string
  readonly token: string
  readonly tokenId: string
  /** In the order of the access items. */
  readonly itemIds: readonly string[]
}

/** Options of a payment. */
export interface PaymentOptions {
  readonly paymentId?: string
  readonly debit?: Amount
  readonly receive?: Amount
  readonly receiver?: string
  readonly walletAddress?: string
  /** Hash of the client's request; default: the same for all payments. */
  readonly request?: string
}

/** A short form of the answer to a reservation. */
export type Answer =
  | { readonly reserved: readonly [debited: string, received: string] }
  | { readonly refused: string }
  | { readonly error: string; readonly field?: string | undefined }

/** A short form of the remaining amounts. */
export interface RemainingAnswer {
  readonly debit: string
  readonly receive: string
  /** When the next interval begins, or `never`. */
  readonly next: string
}

/** The gRPC side of the auth server with its own database, called over the network as services do. */
export class GrpcFixture {
  readonly #stopServer: () => Promise<void>
  readonly introspection: auth.IntrospectionServiceClient
  readonly limits: Limits
  readonly operator: auth.GrantOperatorServiceClient
  readonly holder: auth.HolderGrantServiceClient

  private constructor(
    readonly database: TestDatabase,
    readonly pool: DatabasePool,
    readonly prisma: PrismaClient,
    readonly clock: TestClock,
    readonly bus: RevocationBus,
    /** Keys that clients publish, by `walletAddress kid`; an error when they cannot be fetched. */
    readonly publishedKeys: Map<string, ClientKey | Error>,
    /** `host:port` of the server. */
    readonly address: string,
    stopServer: () => Promise<void>
  ) {
    this.#stopServer = stopServer
    const channel = { target: address, deadlineMs: 20_000, retriesMax: 0, messageBytesMax: 4 << 20 }
    this.introspection = createClient(auth.IntrospectionServiceClient, channel)
    this.limits = createClient(auth.GrantLimitsServiceClient, channel)
    this.operator = createClient(auth.GrantOperatorServiceClient, channel)
    this.holder = createClient(auth.HolderGrantServiceClient, channel)
  }

  /** @param connectionsMax of the server's pool */
  static async start(
    options: {
      connectionsMax?: number
      wrapBus?: (bus: RevocationBus) => RevocationBus
      /** Who operates; everybody unless given. */
      openOperators?: (clock: Clock) => Operators
      /** What needs a second person, as in the settings; nothing unless given. */
      secondPerson?: { readonly OPERATOR_ISSUERS: string; readonly OPERATOR_SECOND_PERSON_FOR: string }
      /** How account holders prove what they want; not at all unless given. */
      consentProofs?: GrpcDependencies['consentProofs']
    } = {}
  ): Promise<GrpcFixture> {
    const directory = new URL('../..', import.meta.url).pathname
    const database = await createTestDatabase({
      migrationsPath: `${directory}prisma/migrations`
    })
    const pool = createPool({
      url: database.url,
      connectionsMax: options.connectionsMax ?? 16,
      applicationName: 'auth-server-test',
      statementTimeoutMs: 20_000,
      connectTimeoutMs: 20_000
    })
    const prisma = new PrismaClient({ adapter: createPrismaAdapter(pool, 'none') })
    const clock = new TestClock(Date.UTC(2026, 0, 15))
    const logger = createLogger({ service: 'test', level: 'silent' })
    const store = createInProcessStore()
    const plainBus = createRevocationBus({ sharedStore: store, logger })
    const bus = options.wrapBus?.(plainBus) ?? plainBus
    const boundKey = await importEd25519Jwk(BOUND_KEY)
    const publishedKeys = new Map<string, ClientKey | Error>([
      [`${SHOP} ${BOUND_KEY.kid}`, { ...BOUND_KEY, publicKey: boundKey }]
    ])
    const server = await startGrpcServices({
      config: {
        GRPC_HOST: '127.0.0.1',
        GRPC_PORT: 0,
        GRPC_REFLECTION: true,
        GRPC_CONNECTION_AGE_SECONDS: 180
      },
      services: createGrpcServices({
        patientDatabase: prisma,
        database: prisma,
        clock,
        logger,
        revocations: bus,
        counters: COUNT_NOTHING,
        telling: createTestTelling(prisma, logger),
        ...BELIEVE_PAGES,
        ...(options.consentProofs && { consentProofs: options.consentProofs }),
        operators: (options.openOperators ?? openEveryOperator)(clock),
        config: { OPERATOR_PROPOSAL_HOURS: 24, ...options.secondPerson },
        random: systemRandom,
        onEventsAppended: () => undefined,
        tokens: createTokenReader({ database: prisma }),
        directory: {
          findKey: (walletAddress, kid) => {
            const found = publishedKeys.get(`${walletAddress} ${kid}`)
            return found instanceof Error ? Promise.reject(found) : Promise.resolve(found)
          }
        }
      }),
      logger
    })
    const stop = async (): Promise<void> => {
      await server.stop(1_000)
      await prisma.$disconnect()
      await pool.end()
      await store.close()
      await database.drop()
    }
    return new GrpcFixture(database, pool, prisma, clock, bus, publishedKeys, server.address, stop)
  }

  async stop(): Promise<void> {
    for (const client of [this.introspection, this.limits, this.operator, this.holder]) client.close()
    await this.#stopServer()
  }

  newId(): string {
    return newId(this.clock, systemRandom)
  }

  /** Writes a grant with a token; issued by default. */
  async grant(options: GrantOptions): Promise<WrittenGrant> {
    const [grantId, tokenId, token] = [this.newId(), this.newId(), randomSecret(systemRandom)]
    const itemIds = options.access.map(() => this.newId())
    const createdAt = new Date(this.clock.now())
    const { clientJwkThumbprint } = options
    const asks = options.access.some(({ type }) => type === 'outgoing-payment')
    const { interaction = asks ? 'APPROVED' : 'nobody was asked' } = options
    await this.prisma.grant.create({
      data: {
        id: grantId,
        state: options.state ?? 'issued',
        ...(clientJwkThumbprint === undefined
          ? { clientWalletAddress: options.clientWalletAddress ?? SHOP }
          : { clientJwkThumbprint }),
        keyId: BOUND_KEY.kid,
        keyX: BOUND_KEY.x,
        continuationTokenHash: Buffer.alloc(32),
        ...(options.state === 'approved' ? { continueBefore: createdAt } : {}),
        createdAt,
        updatedAt: createdAt,
        accessItems: {
          create: options.access.map((item, position) => ({
            ...storeAccessItem(item),
            actions: [...item.actions],
            id: itemIds[position] as string, // made above, one for each item
            position
          }))
        },
        ...(interaction === 'nobody was asked'
          ? {}
          : {
              interaction: {
                create: {
                  id: this.newId(),
                  walletAddress: options.askedWalletAddress ?? options.access[0]?.identifier ?? ALICE,
                  nonce: 'nonce',
                  reference: 'reference',
                  state: interaction,
                  expiresAt: createdAt
                }
              }
            }),
        tokens: {
          create: {
            id: tokenId,
            valueHash: Uint8Array.from(hashSecret(token)),
            // Tests move the clock by years, and the token should outlive that unless its expiry is tested.
            expiresAt: new Date(options.expiresAtMs ?? Date.UTC(2099, 0, 1)),
            createdAt
          }
        }
      }
    })
    return { grantId, tokenId, token, itemIds }
  }

  /** Records who consented to a grant, and to what, as an acceptance with a proof does. */
  async prove(
    { grantId }: Pick<WrittenGrant, 'grantId'>,
    holder: Holder,
    consented: Readonly<Record<string, unknown>>
  ): Promise<void> {
    const { id: interaction, walletAddress } = await this.prisma.interaction.update({
      where: { grantId },
      data: { needsConsentRecord: true }
    })
    const document = JSON.stringify({ interaction, ...consented })
    await this.prisma.consentRecord.create({
      data: {
        grantId,
        document,
        documentHash: Uint8Array.from(hashDocument(document)),
        ...holder,
        amr: [],
        ...proofBy(holder, document, walletAddress),
        createdAt: new Date(this.clock.now())
      }
    })
  }

  /** Replaces a grant's token, as a rotation does. Returns the new value. */
  async rotate({ grantId, tokenId }: Pick<WrittenGrant, 'grantId' | 'tokenId'>): Promise<string> {
    const [id, token] = [this.newId(), randomSecret(systemRandom)]
    await this.database.query(
      `with ended as (
         update access_token set ended_at = now(), end_reason = 'rotated' where id = $1 returning grant_id)
       insert into access_token (id, grant_id, value_hash, expires_at, created_at)
       select $2, $3, $4, '2099-01-01', now() from ended`,
      [tokenId, id, grantId, hashSecret(token)]
    )
    return token
  }

  /** The message of a reservation request. */
  payment(token: string, options: PaymentOptions = {}): auth.ReservationRequest {
    const { debit = usd(100n), receive = usd(100n) } = options
    return {
      paymentId: options.paymentId ?? this.newId(),
      accessToken: token,
      walletAddress: options.walletAddress ?? ALICE,
      receiver: options.receiver ?? RECEIVER,
      debitAmount: amountMessage(debit),
      receiveAmount: amountMessage(receive),
      requestHash: hashSecret(options.request ?? 'a request')
    }
  }

  call<Name extends UnaryMethodName<Limits>>(
    method: Name,
    request: RequestOf<Limits, Name>
  ): Promise<ResponseOf<Limits, Name>> {
    return callUnary(this.limits, method, request, { idempotent: false })
  }

  introspect(accessToken: string, keyId = ''): Promise<auth.IntrospectResponse> {
    return callUnary(this.introspection, 'introspect', { accessToken, keyId }, { idempotent: false })
  }

  /** Reserves. Returns the answer in short form. */
  async reserve(token: string, options: PaymentOptions = {}): Promise<Answer> {
    return this.reserveAs(this.payment(token, options))
  }

  async reserveAs(request: auth.ReservationRequest): Promise<Answer> {
    const [answer] = await this.reserveMany([request]).catch((error: unknown) => [refusalOf(error)])
    if (answer === undefined) throw new Error('a request without an answer')
    return answer
  }

  /** The remaining amounts of a refusal in short form; undefined without a refusal, or when it has none. */
  async remaining(request: auth.ReservationRequest): Promise<RemainingAnswer | undefined> {
    const { results } = await this.call('reserve', { reservations: [request] })
    const result = results[0]?.result
    const remaining = result?.$case === 'refused' ? result.value.remaining : undefined
    return (
      remaining && {
        debit: describe(remaining.debitAmount),
        receive: describe(remaining.receiveAmount),
        next: remaining.nextIntervalTime?.toISOString() ?? 'never'
      }
    )
  }

  /** The place of the access item that refuses, and its limits that do; undefined when a refusal does not say. */
  async refusedBy(request: auth.ReservationRequest): Promise<string | undefined> {
    const { results } = await this.call('reserve', { reservations: [request] })
    const result = results[0]?.result
    const refusedBy = result?.$case === 'refused' ? result.value.refusedBy : undefined
    const limits = refusedBy?.limits.map((limit) => (auth.LimitName[limit] ?? '').replace('LIMIT_NAME_', ''))
    return refusedBy && limits && `${String(refusedBy.accessIndex)}: ${limits.join(', ')}`
  }

  /** Reserves with one call. Returns each answer in short form. */
  async reserveMany(reservations: auth.ReservationRequest[]): Promise<Answer[]> {
    const { results } = await this.call('reserve', { reservations })
    return results.map(({ result }) => shorten(result))
  }

  /** Settles. Returns `OK` or the code. */
  settle(paymentId: string, debited: bigint, received: bigint): Promise<string> {
    return this.endAs(settlement(paymentId, debited, received))
  }

  /** Releases. Returns `OK` or the code. */
  release(paymentId: string): Promise<string> {
    return this.endAs(release(paymentId))
  }

  /** Ends a reservation. Returns `OK` or the code. */
  async endAs(end: auth.ReservationEnd): Promise<string> {
    const [code] = await this.endMany([end])
    if (code === undefined) throw new Error('a request without an answer')
    return code
  }

  /** Ends reservations with one call. Returns `OK` or the code of each. */
  async endMany(ends: auth.ReservationEnd[]): Promise<string[]> {
    const { results } = await this.call('end', { ends })
    return results.map(({ result }) => {
      if (result === undefined) throw new Error('an answer without a result')
      return result.$case === 'ended' ? 'OK' : shortenRefusal(failureOf(result.value))
    })
  }

  /** The server's counters, by item and interval, as `[debited, received]`. */
  async windows(): Promise<Record<string, [string, string]>> {
    const rows = await this.database.query<{ key: string; debited: string; received: string }>(
      `select access_item_id || '/' || interval_index as key, spent_debit_value as debited,
              spent_receive_value as received from limit_window`
    )
    return Object.fromEntries(rows.map(({ key, debited, received }) => [key, [debited, received]]))
  }

  /** The violations of an audit: empty when every counter equals its reservations and is within its limits. */
  async violations(): Promise<string[]> {
    return (await callUnary(this.operator, 'auditLimits', {}, { idempotent: false })).violations
  }

  /** Number of deadlocks that the database resolved. */
  async deadlocks(): Promise<number> {
    const [row] = await this.database.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = current_database()'
    )
    return Number(row?.deadlocks)
  }
}

/** What proves a document of somebody's, but for the signatures. */
export function proofBy(
  { issuer, sub }: Holder,
  document: string,
  walletAddress: string = ALICE
): ConsentProof {
  const nonce = hashDocument(document).toString('base64url')
  return {
    idToken: new UnsecuredJWT({ iss: issuer, sub, nonce }).encode(),
    ownership: new UnsecuredJWT({ holder_issuer: issuer, sub, wallet_address: walletAddress }).encode()
  }
}

function amountMessage({ value, asset }: Amount): auth.Amount {
  return { value: value.toString(), assetCode: asset.code, assetScale: asset.scale }
}

/** Settles a reservation. */
export function settlement(paymentId: string, debited: bigint, received: bigint): auth.ReservationEnd {
  const value = {
    settledDebitValue: debited.toString(),
    settledReceiveValue: received.toString()
  }
  return { paymentId, end: { $case: 'settlement', value } }
}

/** Releases a reservation. */
export function release(paymentId: string): auth.ReservationEnd {
  return { paymentId, end: { $case: 'release', value: {} } }
}

function failureOf({ code, field }: auth.Failure): Refusal {
  const error = status[code] ?? String(code)
  return field === '' ? { error } : { error, field }
}

function shorten(result: auth.ReservationResult['result']): Answer {
  switch (result?.$case) {
    case 'reserved': {
      const { spentDebitAmount, spentReceiveAmount } = result.value
      return { reserved: [describe(spentDebitAmount), describe(spentReceiveAmount)] }
    }
    case 'refused':
      return { refused: (auth.RefusalReason[result.value.reason] ?? '').replace('REFUSAL_REASON_', '') }
    case 'failure':
      return failureOf(result.value)
    case undefined:
      throw new Error('an answer without a result')
  }
}

/** An amount in short form: `12 USD`. */
export function describe(amount: auth.Amount | undefined): string {
  return amount === undefined ? 'none' : `${amount.value} ${amount.assetCode}`
}

/** What a failed call failed with. */
interface Refusal {
  readonly error: string
  readonly field?: string
}

/** What a failed call failed with. */
export function refusalOf(error: unknown): Refusal {
  if (!isRpcError(error)) throw error
  return {
    error: status[error.code],
    ...(error.field === undefined ? {} : { field: error.field })
  }
}

function shortenRefusal({ error: code, field }: Refusal): string {
  return code === 'INVALID_ARGUMENT' ? `${code} ${String(field)}` : code
}
