import {
  createHandlers,
  type GrpcService,
  type MethodDefinition,
  type UnaryHandler,
  type UnaryMethod
} from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import { createEventService } from '@open-payments-server/service-kit/events'
import {
  type Act,
  admitOperators,
  createActionService,
  type OperatorActs,
  type OperatorHandlers
} from '@open-payments-server/service-kit/operators'
import { createWebhookService } from '@open-payments-server/service-kit/webhooks'
import { type ActingDependencies, WALLET_ACTS } from '../grpc/operator/acts.js'
import { answer } from '../grpc/operator/answer.js'
import * as holders from '../grpc/operator/holders.js'
import * as approval from '../grpc/operator/payment-approval.js'
import * as life from '../grpc/operator/payment-life.js'
import { PEER_ACTS } from '../grpc/operator/peer-acts.js'
import * as peers from '../grpc/operator/peers.js'
import { OPERATOR_ROLES } from '../grpc/operator/roles.js'
import { createRefundRpc, listRefundsRpc } from '../grpc/operator/refunds.js'
import * as operator from '../grpc/operator/wallet-operator.js'
import { createActs } from './acts.js'
import type { GrpcDependencies } from './grpc-dependencies.js'

const WALLETS = { definition: wallet.WalletOperatorServiceService, roles: OPERATOR_ROLES.wallets }
const PEERS = { definition: wallet.PeerServiceService, roles: OPERATOR_ROLES.peers }
const WEBHOOKS = { definition: events.WebhookServiceService, roles: OPERATOR_ROLES.webhooks }

/** Everything the resource server serves over gRPC. */
export function createGrpcServices(dependencies: GrpcDependencies): GrpcService[] {
  const { telling, config } = dependencies
  const ofOperators = config.GRPC_OPERATOR_CLIENTS ?? []
  const ofEvents = config.GRPC_EVENT_CLIENTS ?? []
  const clients = { everyMethod: ofOperators }
  const acts = createActs(dependencies)
  const services = [
    {
      definition: wallet.WalletOperatorServiceService,
      implementation: walletOperatorService(dependencies, acts),
      clients
    },
    {
      definition: wallet.PeerServiceService,
      implementation: peerService(dependencies, acts),
      clients
    },
    createActionService({ ...dependencies, acts, answer, clients }),
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
    createWebhookService({ ...dependencies, ...telling, ...telling.webhooks, acts, clients })
  ]
  acts.begin([WALLETS, PEERS, WEBHOOKS])
  return services
}

function walletOperatorService(
  dependencies: GrpcDependencies,
  acts: OperatorActs<ActingDependencies>
): wallet.WalletOperatorServiceServer {
  const { logger, callObserver, operators } = dependencies
  const handlers = admitOperators(createHandlers(logger, callObserver), WALLETS, { ...operators, logger })
  return {
    ...walletActs(handlers, acts),
    ...paymentActs(handlers, acts),
    listAssets: handlers.unary(answer(operator.listAssetsRpc(dependencies))),
    listAccounts: handlers.unary(answer(operator.listAccountsRpc(dependencies))),
    listWalletAddresses: handlers.unary(answer(operator.listWalletAddressesRpc(dependencies))),
    listPayments: handlers.unary(answer(operator.listPaymentsRpc(dependencies))),
    countPayments: handlers.unary(answer(life.countPaymentsRpc(dependencies))),
    getPaymentLife: handlers.unary(answer(life.getPaymentLifeRpc(dependencies))),
    listAccountEntries: handlers.unary(answer(life.listAccountEntriesRpc(dependencies))),
    listAwaitingPayments: handlers.unary(answer(life.listAwaitingPaymentsRpc(dependencies))),
    getOutgoingPayment: handlers.unary(answer(approval.getOutgoingPaymentRpc(dependencies))),
    listApprovalRules: handlers.unary(answer(approval.listApprovalRulesRpc(dependencies))),
    listRefunds: handlers.unary(answer(listRefundsRpc(dependencies))),
    listLostPayments: handlers.unary(answer(operator.listLostPaymentsRpc(dependencies))),
    audit: handlers.unary(answer(operator.auditRpc(dependencies)))
  }
}

/** Makes a handler of a call that changes something. */
function recording(handlers: OperatorHandlers, acts: OperatorActs<ActingDependencies>) {
  return <Request extends object, Response>(
    method: MethodDefinition<Request, Response>,
    act: Act<Request, Response, ActingDependencies>,
    rpc: (dependencies: ActingDependencies) => UnaryHandler<Request, Response>
  ): UnaryMethod<Request, Response> => handlers.unary(answer(acts.unary(method, act, rpc)))
}

function walletActs(handlers: OperatorHandlers, acts: OperatorActs<ActingDependencies>) {
  const { definition } = WALLETS
  const record = recording(handlers, acts)
  return {
    createAsset: record(definition.createAsset, WALLET_ACTS.createAsset, operator.createAssetRpc),
    createAccount: record(definition.createAccount, WALLET_ACTS.createAccount, operator.createAccountRpc),
    setAccountHolder: record(
      definition.setAccountHolder,
      WALLET_ACTS.setAccountHolder,
      operator.setAccountHolderRpc
    ),
    createWalletAddress: record(
      definition.createWalletAddress,
      WALLET_ACTS.createWalletAddress,
      operator.createWalletAddressRpc
    ),
    freezeAccount: record(definition.freezeAccount, WALLET_ACTS.freezeAccount, (on) =>
      operator.freezeAccountRpc(true, on)
    ),
    unfreezeAccount: record(definition.unfreezeAccount, WALLET_ACTS.unfreezeAccount, (on) =>
      operator.freezeAccountRpc(false, on)
    ),
    freezeWalletAddress: record(definition.freezeWalletAddress, WALLET_ACTS.freezeWalletAddress, (on) =>
      operator.freezeWalletAddressRpc(true, on)
    ),
    unfreezeWalletAddress: record(definition.unfreezeWalletAddress, WALLET_ACTS.unfreezeWalletAddress, (on) =>
      operator.freezeWalletAddressRpc(false, on)
    ),
    addClientKey: record(definition.addClientKey, WALLET_ACTS.addClientKey, operator.addClientKeyRpc),
    revokeClientKey: record(
      definition.revokeClientKey,
      WALLET_ACTS.revokeClientKey,
      operator.revokeClientKeyRpc
    ),
    deposit: record(definition.deposit, WALLET_ACTS.deposit, operator.depositRpc),
    withdraw: record(definition.withdraw, WALLET_ACTS.withdraw, operator.withdrawRpc)
  }
}

function paymentActs(handlers: OperatorHandlers, acts: OperatorActs<ActingDependencies>) {
  const { definition } = WALLETS
  const record = recording(handlers, acts)
  return {
    approvePayment: record(definition.approvePayment, WALLET_ACTS.approvePayment, approval.approvePaymentRpc),
    declinePayment: record(definition.declinePayment, WALLET_ACTS.declinePayment, approval.declinePaymentRpc),
    createApprovalRule: record(
      definition.createApprovalRule,
      WALLET_ACTS.createApprovalRule,
      approval.createApprovalRuleRpc
    ),
    deleteApprovalRule: record(
      definition.deleteApprovalRule,
      WALLET_ACTS.deleteApprovalRule,
      approval.deleteApprovalRuleRpc
    ),
    createRefund: record(definition.createRefund, WALLET_ACTS.createRefund, createRefundRpc),
    giveUpLostPayments: record(
      definition.giveUpLostPayments,
      WALLET_ACTS.giveUpLostPayments,
      operator.giveUpLostPaymentsRpc
    ),
    restoreReservations: record(
      definition.restoreReservations,
      WALLET_ACTS.restoreReservations,
      operator.restoreReservationsRpc
    ),
    acceptUncountedPayments: record(
      definition.acceptUncountedPayments,
      WALLET_ACTS.acceptUncountedPayments,
      operator.acceptUncountedPaymentsRpc
    )
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

function peerService(
  dependencies: GrpcDependencies,
  acts: OperatorActs<ActingDependencies>
): wallet.PeerServiceServer {
  const { logger, callObserver, operators } = dependencies
  const { definition } = PEERS
  const handlers = admitOperators(createHandlers(logger, callObserver), PEERS, { ...operators, logger })
  const record = recording(handlers, acts)
  return {
    createPeer: record(definition.createPeer, PEER_ACTS.createPeer, peers.createPeerRpc),
    getPeer: handlers.unary(answer(peers.getPeerRpc(dependencies))),
    listPeers: handlers.unary(answer(peers.listPeersRpc(dependencies))),
    updatePeer: record(definition.updatePeer, PEER_ACTS.updatePeer, peers.updatePeerRpc),
    rotatePeerToken: record(definition.rotatePeerToken, PEER_ACTS.rotatePeerToken, peers.rotatePeerTokenRpc),
    settlePeer: record(definition.settlePeer, PEER_ACTS.settlePeer, peers.settlePeerRpc),
    getPeerStatement: handlers.unary(answer(peers.getPeerStatementRpc(dependencies))),
    listPeerEntries: handlers.unary(answer(peers.listPeerEntriesRpc(dependencies))),
    listUnknownPackets: handlers.unary(answer(peers.listUnknownPacketsRpc(dependencies))),
    countUnknownPackets: handlers.unary(answer(peers.countUnknownPacketsRpc(dependencies))),
    decidePacket: record(definition.decidePacket, PEER_ACTS.decidePacket, peers.decidePacketRpc)
  }
}
