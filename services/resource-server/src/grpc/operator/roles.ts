import type { wallet } from '@open-payments-server/proto'
import { EVENT_ROLES, type RolesOf, WEBHOOK_ROLES } from '@open-payments-server/service-kit/operators'

const WALLET_OPERATOR_ROLES: RolesOf<typeof wallet.WalletOperatorServiceService> = {
  createAsset: 'operator',
  listAssets: 'viewer',
  createAccount: 'operator',
  listAccounts: 'viewer',
  setAccountHolder: 'operator',
  createWalletAddress: 'operator',
  listWalletAddresses: 'viewer',
  freezeAccount: 'operator',
  unfreezeAccount: 'operator',
  freezeWalletAddress: 'operator',
  unfreezeWalletAddress: 'operator',
  deposit: 'operator',
  withdraw: 'operator',
  addClientKey: 'operator',
  revokeClientKey: 'operator',
  listPayments: 'viewer',
  countPayments: 'viewer',
  getPaymentLife: 'viewer',
  listAccountEntries: 'viewer',
  listAwaitingPayments: 'viewer',
  getOutgoingPayment: 'viewer',
  approvePayment: 'approver',
  declinePayment: 'approver',
  // Whoever makes payments wait must not be who lets them go, nor end that they wait.
  createApprovalRule: 'operator',
  listApprovalRules: 'viewer',
  deleteApprovalRule: 'operator',
  createRefund: 'operator',
  listRefunds: 'viewer',
  listLostPayments: 'viewer',
  giveUpLostPayments: 'operator',
  restoreReservations: 'operator',
  acceptUncountedPayments: 'approver',
  audit: 'viewer'
}

const PEER_ROLES: RolesOf<typeof wallet.PeerServiceService> = {
  createPeer: 'operator',
  getPeer: 'viewer',
  listPeers: 'viewer',
  updatePeer: 'operator',
  rotatePeerToken: 'operator',
  settlePeer: 'operator',
  getPeerStatement: 'viewer',
  listPeerEntries: 'viewer',
  listUnknownPackets: 'viewer',
  countUnknownPackets: 'viewer',
  decidePacket: 'operator'
}

/** The role that each call of an operator needs. */
export const OPERATOR_ROLES = {
  wallets: WALLET_OPERATOR_ROLES,
  peers: PEER_ROLES,
  events: EVENT_ROLES,
  webhooks: WEBHOOK_ROLES
} as const
