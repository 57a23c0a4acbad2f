import {
  callUnary,
  type ClientObserver,
  createClient,
  Metadata,
  observeCalls,
  RETRIES_MAX,
  RpcError,
  shareChannel,
  status
} from '@open-payments-server/grpc-transport'
import { auth, events, operators, wallet } from '@open-payments-server/proto'
import { MESSAGE_BYTES_MAX } from '@open-payments-server/service-kit/grpc'
import { OPERATOR_TOKEN_KEY } from '@open-payments-server/service-kit/operators'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { ServiceAway } from '../domain/grant.js'
import {
  type OperateAs,
  type OperatedCall,
  OperationProposed,
  OperationRefused,
  type ServiceName,
  TokenRefused
} from '../features/operated.js'
import type { ServiceTarget } from './service-target.js'

/** The services, for operators. */
export interface OperatedConnection {
  readonly operateAs: OperateAs
  /** From now on its calls are observed. */
  observe(observer: ClientObserver): void
  close(): void
}

type Refusals = Readonly<Partial<Record<status, OperationRefused['because']>>>

const REFUSALS: Refusals = {
  [status.NOT_FOUND]: 'not-found',
  [status.INVALID_ARGUMENT]: 'invalid',
  [status.ALREADY_EXISTS]: 'not-possible',
  [status.FAILED_PRECONDITION]: 'not-possible',
  // A replica of an earlier version, during a rollout.
  [status.UNIMPLEMENTED]: 'not-possible',
  [status.PERMISSION_DENIED]: 'not-allowed'
}

/** Connects by itself, and reconnects when a connection breaks. One connection to each service. */
export function connectOperated(targets: Readonly<Record<ServiceName, ServiceTarget>>): OperatedConnection {
  const shared = { retriesMax: RETRIES_MAX, messageBytesMax: MESSAGE_BYTES_MAX }
  const wallets = createClient(wallet.WalletOperatorServiceClient, {
    ...targets['resource-server'],
    ...shared
  })
  const grants = createClient(auth.GrantOperatorServiceClient, { ...targets['auth-server'], ...shared })
  const peers = shareChannel(wallet.PeerServiceClient, wallets)
  const told = {
    'auth-server': shareChannel(events.EventServiceClient, grants),
    'resource-server': shareChannel(events.EventServiceClient, wallets)
  }
  const webhooks = {
    'auth-server': shareChannel(events.WebhookServiceClient, grants),
    'resource-server': shareChannel(events.WebhookServiceClient, wallets)
  }
  const acts = {
    'auth-server': shareChannel(operators.OperatorActionServiceClient, grants),
    'resource-server': shareChannel(operators.OperatorActionServiceClient, wallets)
  }
  return {
    operateAs(idToken) {
      const sent = (): Metadata => {
        const metadata = new Metadata()
        metadata.set(OPERATOR_TOKEN_KEY, idToken)
        return metadata
      }
      const options = ({ isRepeatable = true, deadlineMs }: OperatedCall = {}) => ({
        idempotent: isRepeatable,
        deadlineMs,
        metadata: sent()
      })
      return {
        wallets: (method, request, call) =>
          answered('resource-server', callUnary(wallets, method, request, options(call))),
        peers: (method, request, call) =>
          answered('resource-server', callUnary(peers, method, request, options(call))),
        grants: (method, request, call) =>
          answered('auth-server', callUnary(grants, method, request, options(call))),
        events: (service, method, request, call) =>
          answered(service, callUnary(told[service], method, request, options(call))),
        webhooks: (service, method, request, call) =>
          answered(service, callUnary(webhooks[service], method, request, options(call))),
        acts: (service, method, request, call) =>
          answered(service, callUnary(acts[service], method, request, options(call)))
      }
    },
    observe(observer) {
      observeCalls(wallets, observer)
      observeCalls(grants, observer)
    },
    close() {
      wallets.close()
      grants.close()
    }
  }
}

/** The answer of a call, whose errors become those of this service. */
async function answered<Answer>(service: ServiceName, answering: Promise<Answer>): Promise<Answer> {
  try {
    return await answering
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const options = { cause: error }
    if (error.code === status.UNAUTHENTICATED) throw new TokenRefused(error.message, options)
    const proposalId = proposalOf(error)
    if (proposalId !== undefined) throw new OperationProposed(service, proposalId, options)
    const because = REFUSALS[error.code]
    if (because !== undefined)
      throw new OperationRefused(because, error.message, { ...options, field: error.field })
    throw new ServiceAway(`the ${service}`, options)
  }
}

/** The id of the proposal that a call made instead of being done. */
function proposalOf({ code, reference }: RpcError): string | undefined {
  const isProposed = code === status.FAILED_PRECONDITION && reference !== undefined && isUuid(reference)
  return isProposed ? reference : undefined
}
