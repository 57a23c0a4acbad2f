import { type CallObserver, createHandlers, type GrpcService } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { EventNews } from '@open-payments-server/events'
import type { Logger } from '@open-payments-server/runtime'
import { createEventService } from '@open-payments-server/service-kit/events'
import type { ResourceServerConfig } from '../config.js'
import { EVENT_TYPES } from '../domain/event-types.js'
import type { AuditMoneyDependencies } from '../features/audit-money/audit-money.js'
import type { GiveUpLostDependencies } from '../features/audit-money/lost-payments.js'
import type { OperatorDependencies } from '../features/operate-wallets/dependencies.js'
import type { RefundDependencies } from '../features/refund-payments/dependencies.js'
import { completeEvents } from '../features/tell-events/complete-events.js'
import { answer } from '../grpc/operator/answer.js'
import { createRefundRpc, listRefundsRpc } from '../grpc/operator/refunds.js'
import * as operator from '../grpc/operator/wallet-operator.js'

/** The dependencies of the gRPC services. */
export interface GrpcDependencies
  extends OperatorDependencies, AuditMoneyDependencies, GiveUpLostDependencies, RefundDependencies {
  readonly logger: Logger
  /** Says when there are new events. */
  readonly news: EventNews
  /** Observes every call; none unless given. */
  readonly callObserver?: CallObserver | undefined
  /** Who may operate when clients present certificates, and what audits regard as lost. */
  readonly config: Pick<ResourceServerConfig, 'GRPC_OPERATOR_CLIENTS' | 'ORPHAN_AGE_SECONDS'>
}

/** Everything the resource server serves over gRPC. */
export function createGrpcServices(dependencies: GrpcDependencies): GrpcService[] {
  const { database, urls, news, logger, callObserver, config } = dependencies
  const operators = { everyMethod: config.GRPC_OPERATOR_CLIENTS ?? [] }
  return [
    {
      definition: wallet.WalletOperatorServiceService,
      implementation: walletOperatorService(dependencies),
      clients: operators
    },
    createEventService({
      service: 'resource-server',
      database,
      news,
      types: new Set(Object.keys(EVENT_TYPES)),
      complete: (events) => completeEvents(events, { database, urls }),
      logger,
      callObserver,
      clients: operators
    })
  ]
}

function walletOperatorService(dependencies: GrpcDependencies): wallet.WalletOperatorServiceServer {
  const handlers = createHandlers(dependencies.logger, dependencies.callObserver)
  return {
    createAsset: handlers.unary(answer(operator.createAssetRpc(dependencies))),
    listAssets: handlers.unary(answer(operator.listAssetsRpc(dependencies))),
    createAccount: handlers.unary(answer(operator.createAccountRpc(dependencies))),
    listAccounts: handlers.unary(answer(operator.listAccountsRpc(dependencies))),
    createWalletAddress: handlers.unary(answer(operator.createWalletAddressRpc(dependencies))),
    listWalletAddresses: handlers.unary(answer(operator.listWalletAddressesRpc(dependencies))),
    addClientKey: handlers.unary(answer(operator.addClientKeyRpc(dependencies))),
    revokeClientKey: handlers.unary(answer(operator.revokeClientKeyRpc(dependencies))),
    deposit: handlers.unary(answer(operator.depositRpc(dependencies))),
    withdraw: handlers.unary(answer(operator.withdrawRpc(dependencies))),
    listPayments: handlers.unary(answer(operator.listPaymentsRpc(dependencies))),
    createRefund: handlers.unary(answer(createRefundRpc(dependencies))),
    listRefunds: handlers.unary(answer(listRefundsRpc(dependencies))),
    listLostPayments: handlers.unary(answer(operator.listLostPaymentsRpc(dependencies))),
    giveUpLostPayments: handlers.unary(answer(operator.giveUpLostPaymentsRpc(dependencies))),
    audit: handlers.unary(answer(operator.auditRpc(dependencies)))
  }
}
