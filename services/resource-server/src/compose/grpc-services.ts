import { type CallObserver, createHandlers, type GrpcService } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { createEventService } from '@open-payments-server/service-kit/events'
import { admitOperators, type Operators } from '@open-payments-server/service-kit/operators'
import { createWebhookService, type Telling } from '@open-payments-server/service-kit/webhooks'
import type { ResourceServerConfig } from '../config.js'
import type { AuditMoneyDependencies } from '../features/audit-money/audit-money.js'
import type { GiveUpLostDependencies } from '../features/audit-money/lost-payments.js'
import type { DecideDependencies, RuleDependencies } from '../features/approve-payments/dependencies.js'
import type { FreezeDependencies } from '../features/operate-wallets/freeze.js'
import type { PeerDependencies } from '../features/operate-peers/dependencies.js'
import type { RefundDependencies } from '../features/refund-payments/dependencies.js'
import type { OwnershipDependencies } from '../features/state-ownership/state-ownership.js'
import { answer } from '../grpc/operator/answer.js'
import * as holders from '../grpc/operator/holders.js'
import * as approval from '../grpc/operator/payment-approval.js'
import * as peers from '../grpc/operator/peers.js'
import { OPERATOR_ROLES } from '../grpc/operator/roles.js'
import { createRefundRpc, listRefundsRpc } from '../grpc/operator/refunds.js'
import * as operator from '../grpc/operator/wallet-operator.js'

/** The dependencies of the gRPC services. */
export interface GrpcDependencies
  extends
    FreezeDependencies,
    AuditMoneyDependencies,
    GiveUpLostDependencies,
    DecideDependencies,
    RuleDependencies,
    PeerDependencies,
    RefundDependencies,
    OwnershipDependencies {
  readonly counters: DecideDependencies['counters'] & GiveUpLostDependencies['counters']
  readonly logger: Logger
  readonly telling: Telling
  /** Who operates. */
  readonly operators: Operators
  /** Observes every call; none unless given. */
  readonly callObserver?: CallObserver | undefined
  /** Who may operate when clients present certificates, and what audits regard as lost. */
  readonly config: Pick<
    ResourceServerConfig,
    | 'GRPC_OPERATOR_CLIENTS'
    | 'GRPC_EVENT_CLIENTS'
    | 'GRPC_HOLDER_CLIENTS'
    | 'ORPHAN_AGE_SECONDS'
    | 'FREEZE_PENDING_PAYMENTS'
  >
}

/** Everything the resource server serves over gRPC. */
export function createGrpcServices(dependencies: GrpcDependencies): GrpcService[] {
  const { telling, config } = dependencies
  const ofOperators = config.GRPC_OPERATOR_CLIENTS ?? []
  const ofEvents = config.GRPC_EVENT_CLIENTS ?? []
  return [
    {
      definition: wallet.WalletOperatorServiceService,
      implementation: walletOperatorService(dependencies),
      clients: { everyMethod: ofOperators }
    },
    {
      definition: wallet.PeerServiceService,
      implementation: peerService(dependencies),
      clients: { everyMethod: ofOperators }
    },
    {
      definition: wallet.HolderServiceService,
      implementation: holderService(dependencies),
      clients: { everyMethod: config.GRPC_HOLDER_CLIENTS ?? [] }
    },
    createEventService({
      ...dependencies,
      ...telling,
      service: 'resource-server',
      clients: { everyMethod: [...ofOperators, ...ofEvents] },
      readers: ofEvents
    }),
    createWebhookService({
      ...dependencies,
      ...telling,
      ...telling.webhooks,
      clients: { everyMethod: ofOperators }
    })
  ]
}

function walletOperatorService(dependencies: GrpcDependencies): wallet.WalletOperatorServiceServer {
  const { logger, callObserver, operators } = dependencies
  const service = { definition: wallet.WalletOperatorServiceService, roles: OPERATOR_ROLES.wallets }
  const handlers = admitOperators(createHandlers(logger, callObserver), service, { ...operators, logger })
  return {
    createAsset: handlers.unary(answer(operator.createAssetRpc(dependencies))),
    listAssets: handlers.unary(answer(operator.listAssetsRpc(dependencies))),
    createAccount: handlers.unary(answer(operator.createAccountRpc(dependencies))),
    listAccounts: handlers.unary(answer(operator.listAccountsRpc(dependencies))),
    setAccountHolder: handlers.unary(answer(operator.setAccountHolderRpc(dependencies))),
    createWalletAddress: handlers.unary(answer(operator.createWalletAddressRpc(dependencies))),
    freezeAccount: handlers.unary(answer(operator.freezeAccountRpc(true, dependencies))),
    unfreezeAccount: handlers.unary(answer(operator.freezeAccountRpc(false, dependencies))),
    freezeWalletAddress: handlers.unary(answer(operator.freezeWalletAddressRpc(true, dependencies))),
    unfreezeWalletAddress: handlers.unary(answer(operator.freezeWalletAddressRpc(false, dependencies))),
    listWalletAddresses: handlers.unary(answer(operator.listWalletAddressesRpc(dependencies))),
    addClientKey: handlers.unary(answer(operator.addClientKeyRpc(dependencies))),
    revokeClientKey: handlers.unary(answer(operator.revokeClientKeyRpc(dependencies))),
    deposit: handlers.unary(answer(operator.depositRpc(dependencies))),
    withdraw: handlers.unary(answer(operator.withdrawRpc(dependencies))),
    listPayments: handlers.unary(answer(operator.listPaymentsRpc(dependencies))),
    getOutgoingPayment: handlers.unary(answer(approval.getOutgoingPaymentRpc(dependencies))),
    approvePayment: handlers.unary(answer(approval.approvePaymentRpc(dependencies))),
    declinePayment: handlers.unary(answer(approval.declinePaymentRpc(dependencies))),
    createApprovalRule: handlers.unary(answer(approval.createApprovalRuleRpc(dependencies))),
    listApprovalRules: handlers.unary(answer(approval.listApprovalRulesRpc(dependencies))),
    deleteApprovalRule: handlers.unary(answer(approval.deleteApprovalRuleRpc(dependencies))),
    createRefund: handlers.unary(answer(createRefundRpc(dependencies))),
    listRefunds: handlers.unary(answer(listRefundsRpc(dependencies))),
    listLostPayments: handlers.unary(answer(operator.listLostPaymentsRpc(dependencies))),
    giveUpLostPayments: handlers.unary(answer(operator.giveUpLostPaymentsRpc(dependencies))),
    restoreReservations: handlers.unary(answer(operator.restoreReservationsRpc(dependencies))),
    acceptUncountedPayments: handlers.unary(answer(operator.acceptUncountedPaymentsRpc(dependencies))),
    audit: handlers.unary(answer(operator.auditRpc(dependencies)))
  }
}

function holderService(dependencies: GrpcDependencies): wallet.HolderServiceServer {
  const handlers = createHandlers(dependencies.logger, dependencies.callObserver)
  return {
    stateOwnership: handlers.unary(answer(holders.stateOwnershipRpc(dependencies))),
    listHolderAccounts: handlers.unary(answer(holders.listHolderAccountsRpc(dependencies))),
    describeReceivers: handlers.unary(answer(holders.describeReceiversRpc(dependencies))),
    listHolderPayments: handlers.unary(answer(holders.listHolderPaymentsRpc(dependencies))),
    listGrantPayments: handlers.unary(answer(holders.listGrantPaymentsRpc(dependencies)))
  }
}

function peerService(dependencies: GrpcDependencies): wallet.PeerServiceServer {
  const { logger, callObserver, operators } = dependencies
  const service = { definition: wallet.PeerServiceService, roles: OPERATOR_ROLES.peers }
  const handlers = admitOperators(createHandlers(logger, callObserver), service, { ...operators, logger })
  return {
    createPeer: handlers.unary(answer(peers.createPeerRpc(dependencies))),
    getPeer: handlers.unary(answer(peers.getPeerRpc(dependencies))),
    listPeers: handlers.unary(answer(peers.listPeersRpc(dependencies))),
    updatePeer: handlers.unary(answer(peers.updatePeerRpc(dependencies))),
    rotatePeerToken: handlers.unary(answer(peers.rotatePeerTokenRpc(dependencies))),
    settlePeer: handlers.unary(answer(peers.settlePeerRpc(dependencies))),
    getPeerStatement: handlers.unary(answer(peers.getPeerStatementRpc(dependencies))),
    listPeerEntries: handlers.unary(answer(peers.listPeerEntriesRpc(dependencies))),
    listUnknownPackets: handlers.unary(answer(peers.listUnknownPacketsRpc(dependencies))),
    decidePacket: handlers.unary(answer(peers.decidePacketRpc(dependencies)))
  }
}
