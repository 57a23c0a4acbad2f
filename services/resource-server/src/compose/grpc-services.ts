import { type CallObserver, createHandlers, type GrpcService } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { ResourceServerConfig } from '../config.js'
import { createWalletOperator, type WalletOperatorDependencies } from '../grpc/operator/wallet-operator.js'

/** The dependencies of the gRPC services. */
export interface GrpcDependencies extends WalletOperatorDependencies {
  readonly logger: Logger
  /** Observes every call; none unless given. */
  readonly callObserver?: CallObserver | undefined
  /** Who may operate when clients present certificates, and what audits regard as lost. */
  readonly config: Pick<
    ResourceServerConfig,
    | 'GRPC_OPERATOR_CLIENTS'
    | 'ORPHAN_AGE_SECONDS'
    | 'SWEEP_INTERVAL_SECONDS'
    | 'SIGNATURE_AGE_MAX_SECONDS'
    | 'SIGNATURE_FUTURE_MAX_SECONDS'
  >
}

/** Everything the resource server serves over gRPC. */
export function createGrpcServices(dependencies: GrpcDependencies): GrpcService[] {
  const { config, logger, callObserver } = dependencies
  return [
    {
      definition: wallet.WalletOperatorServiceService,
      implementation: createWalletOperator(createHandlers(logger, callObserver), dependencies),
      clients: { everyMethod: config.GRPC_OPERATOR_CLIENTS ?? [] }
    }
  ]
}
