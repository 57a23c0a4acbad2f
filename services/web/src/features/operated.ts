import type { RequestOf, ResponseOf, UnaryMethodName } from '@open-payments-server/grpc-transport'
import type { auth, events, operators, wallet } from '@open-payments-server/proto'

/** How a call is made. */
export interface OperatedCall {
  /** Whether it may be repeated: twice must have the same effect as once. Calls that read may. */
  readonly isRepeatable?: boolean
  /** How long it may take, in milliseconds; as configured unless given. */
  readonly deadlineMs?: number
}

type Wallets = wallet.WalletOperatorServiceClient
type Peers = wallet.PeerServiceClient
type Grants = auth.GrantOperatorServiceClient
type Events = events.EventServiceClient
type Webhooks = events.WebhookServiceClient
type Acts = operators.OperatorActionServiceClient

/** The two services that have events, endpoints and records of acts of their own. */
export type ServiceName = 'auth-server' | 'resource-server'
/** Both of them. */
export const SERVICES = ['resource-server', 'auth-server'] as const satisfies readonly ServiceName[]

/**
 * What the services let an operator do. Each call carries the operator's ID token: the services decide, and record who it was. Every
 * call throws {@link OperationRefused}, {@link OperationProposed}, {@link TokenRefused} or `ServiceAway`.
 */
export interface Operated {
  wallets<Name extends UnaryMethodName<Wallets>>(
    method: Name,
    request: RequestOf<Wallets, Name>,
    call?: OperatedCall
  ): Promise<ResponseOf<Wallets, Name>>
  peers<Name extends UnaryMethodName<Peers>>(
    method: Name,
    request: RequestOf<Peers, Name>,
    call?: OperatedCall
  ): Promise<ResponseOf<Peers, Name>>
  grants<Name extends UnaryMethodName<Grants>>(
    method: Name,
    request: RequestOf<Grants, Name>,
    call?: OperatedCall
  ): Promise<ResponseOf<Grants, Name>>
  events<Name extends UnaryMethodName<Events>>(
    service: ServiceName,
    method: Name,
    request: RequestOf<Events, Name>,
    call?: OperatedCall
  ): Promise<ResponseOf<Events, Name>>
  webhooks<Name extends UnaryMethodName<Webhooks>>(
    service: ServiceName,
    method: Name,
    request: RequestOf<Webhooks, Name>,
    call?: OperatedCall
  ): Promise<ResponseOf<Webhooks, Name>>
  acts<Name extends UnaryMethodName<Acts>>(
    service: ServiceName,
    method: Name,
    request: RequestOf<Acts, Name>,
    call?: OperatedCall
  ): Promise<ResponseOf<Acts, Name>>
}

/** Makes the calls of whoever an ID token is of. */
export type OperateAs = (idToken: string) => Operated

/** A service refused a call, which changed nothing. The message is the service's. */
export class OperationRefused extends Error {
  override readonly name = 'OperationRefused'

  /** The field at fault, as the contract spells it; undefined where none is. */
  readonly field: string | undefined

  /** @param because what is at fault: what was asked for, what was asked, the state of things, or who asks */
  constructor(
    readonly because: 'not-found' | 'invalid' | 'not-possible' | 'not-allowed',
    message: string,
    { field, ...options }: ErrorOptions & { readonly field?: string | undefined } = {}
  ) {
    super(message, options)
    this.field = field
  }
}

/** A service does not take the ID token. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
}

/** An act is not done yet: it awaits a second person. */
export class OperationProposed extends Error {
  override readonly name = 'OperationProposed'

  /**
   * @param service that keeps the proposal
   * @param proposalId its id (UUID)
   */
  constructor(
    readonly service: ServiceName,
    readonly proposalId: string,
    options?: ErrorOptions
  ) {
    super('it awaits a second person', options)
  }
}
